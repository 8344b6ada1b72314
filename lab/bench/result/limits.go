package result

// Limits is the result of measuring limits and curves.
type Limits struct {
	Connections []Series `json:"connections"` // by connections, of plain Gin and the service
	Sales       []Series `json:"sales"`       // by sales on sale at once
	Stock       []Series `json:"stock"`       // by units of one sale; late buyers are refused
	Stampede    Stampede `json:"stampede"`
	// Stampedes are all stampedes, one per round; Stampede is the first.
	Stampedes []Stampede `json:"stampedes,omitempty"`
	Targets   []Target   `json:"targets,omitempty"` // derived from the rest by the report
	Sale      LongSale   `json:"sale"`
	Waiting   Waiting    `json:"waiting"`
	Expiry    Expiry     `json:"expiry"`
}

// Stampede is the result of very many connections that were opened within a short time, with one purchase on each, and
// stayed open until all were answered.
type Stampede struct {
	Connections int     `json:"connections"`
	FileLimit   uint64  `json:"fileLimit"` // limit of each process, which bounds the connections here
	Accepted    int64   `json:"accepted"`
	Failed      int64   `json:"failed"` // not answered, or answered with anything but 201, 202, 403 or 409
	FirstError  string  `json:"firstError,omitempty"`
	Opened      float64 `json:"openedSeconds"`   // from the first to the last connection
	Answered    float64 `json:"answeredSeconds"` // from the first connection to the last answer
	P50         float64 `json:"p50Millis"`       // from the attempt to connect to the answer
	P99         float64 `json:"p99Millis"`
	Before      float64 `json:"answeredPerSecondBefore"` // under ordinary load
	After       float64 `json:"answeredPerSecondAfter"`  // under the same load, at once after the stampede
	Idle        float64 `json:"serverMegabytesBefore"`
	Peak        float64 `json:"serverMegabytesPeak"`
	Left        float64 `json:"serverMegabytesAfter"`
	PlainIdle   float64 `json:"plainMegabytesBefore"` // memory of plain Gin in the same stampede
	PlainPeak   float64 `json:"plainMegabytesPeak"`
	PlainFailed int64   `json:"plainFailed"`
}

// KilobytesEach returns the memory per connection, of the service and of plain Gin.
func (s Stampede) KilobytesEach() (service, plain float64) {
	n := float64(max(s.Connections, 1)) / 1024
	return (s.Peak - s.Idle) / n, (s.PlainPeak - s.PlainIdle) / n
}

// LongSale is a sale with more buyers than units, from its start to its last row.
type LongSale struct {
	Buyers     int64    `json:"buyers"`
	Units      int64    `json:"units"`
	Rate       float64  `json:"answeredPerSecond"`
	P50        float64  `json:"p50Millis"`
	P99        float64  `json:"p99Millis"`
	SoldOut    float64  `json:"soldOutSeconds"`    // from the start to the last acceptance
	LastRow    float64  `json:"lastRowSeconds"`    // to the last row
	LastAnswer float64  `json:"lastAnswerSeconds"` // to the last answer
	MaxWaiting int64    `json:"mostWaiting"`       // orders accepted and not recorded, at most
	Progress   []Moment `json:"points"`
}

// Moment is the state of a sale at one time, as sums since its start.
type Moment struct {
	Second   float64 `json:"second"`
	Accepted int64   `json:"accepted"`
	Refused  int64   `json:"refused"`
	Recorded int64   `json:"recorded"`
}

// Waiting is the result of many buyers who waited for their rows at the same time, on one instance, while another one
// recorded as well.
type Waiting struct {
	Buyers     int     `json:"buyers"`
	Kilobytes  float64 `json:"kilobytesEach"`    // of the instance's memory, connection and request included
	LastRow    float64 `json:"recordedMillis"`   // from when recording could begin to the last row
	LastAnswer float64 `json:"lastAnswerMillis"` // to the last answer
	P50        float64 `json:"p50Millis"`        // to the answers
	P99        float64 `json:"p99Millis"`
}

// Expiry says how a backlog of overdue orders expired while another sale went on.
type Expiry struct {
	Backlog int64        `json:"backlog"`
	Rate    float64      `json:"purchasesPerSecond"` // rate of the sale that goes on
	Quiet   Latency      `json:"withoutExpiry"`
	Rates   []ExpiryRate `json:"rates"`
}

// ExpiryRate is one expiry of the backlog at one setting of SECKILL_CLOSE_RATE.
type ExpiryRate struct {
	Setting int     `json:"closeRate"`
	Expired int64   `json:"expired"`
	Rate    float64 `json:"expiredPerSecond"`
	Whole   bool    `json:"wholeBacklog"` // it ended within the measured time
	Sale    Latency `json:"sale"`         // of purchases meanwhile
}

// Latency is how long requests took, in milliseconds.
type Latency struct {
	P50 float64 `json:"p50Millis"`
	P99 float64 `json:"p99Millis"`
}
