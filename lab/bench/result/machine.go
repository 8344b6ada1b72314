package result

// Machine is where and on what figures were taken: they are worth nothing without it.
type Machine struct {
	Date       string            `json:"date"` // RFC 3339
	Commit     string            `json:"commit"`
	Go         string            `json:"go"`
	System     string            `json:"system"`
	Processor  string            `json:"processor"`
	Processors int               `json:"processors"`
	Redis      string            `json:"redis"`
	Database   string            `json:"database"`
	Durability map[string]string `json:"durability"` // settings of the stores
}

// Plan is how they were taken.
type Plan struct {
	Rounds      int     `json:"rounds"`
	Seconds     float64 `json:"secondsPerTrial"`
	Connections int     `json:"connections"`
	Sales       int     `json:"manySales"`
	Buyers      int64   `json:"manyBuyers"`
}
