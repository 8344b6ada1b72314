package result

// Machine says where figures were measured, and on what: without that they are worth nothing.
type Machine struct {
	Date       string            `json:"date"` // RFC 3339
	Commit     string            `json:"commit"`
	Go         string            `json:"go"`
	System     string            `json:"system"`
	Processor  string            `json:"processor"`
	Processors int               `json:"processors"`
	Redis      string            `json:"redis"` // with its name, as "Redis 7.0.15"
	Database   string            `json:"database"`
	Durability map[string]string `json:"durability"` // settings of the stores
}

// Plan says how figures were measured.
type Plan struct {
	Rounds      int     `json:"rounds"`
	Seconds     float64 `json:"secondsPerTrial"`
	Connections int     `json:"connections"`
	Sales       int     `json:"manySales"`
	Buyers      int64   `json:"manyBuyers"`
}
