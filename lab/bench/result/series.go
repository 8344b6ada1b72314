package result

import "slices"

// Name names a figure, including its unit.
type Name string

// The figures.
const (
	Answered Name = "answered" // warm-up included; what is accepted, unless the candidate is sold out
	Refused  Name = "refused"
	Rate     Name = "answers" // in the measured part
	P50      Name = "latency p50"
	P99      Name = "latency p99"
	// RecordedMeanwhile was measured while purchases came in; RecordedDraining after the last of them, if the backlog
	// was large enough.
	RecordedMeanwhile Name = "recorded under load"
	RecordedDraining  Name = "recorded draining"
	Backlog           Name = "backlog" // accepted and not recorded when the last answer came
	Drain             Name = "drain"
	// RowP50 and RowP99 are the time from a buyer's request until the answer that the order has its row.
	RowP50 Name = "row p50"
	RowP99 Name = "row p99"
	// WaitingBytes is an order's memory in Redis while it waits, RecordedBytes what remains of that afterwards.
	WaitingBytes  Name = "Redis memory per waiting order"
	RecordedBytes Name = "Redis memory per recorded order"
	ServerMemory  Name = "server memory" // resident
	BodyBytes     Name = "length of an answer"
	StoreCalls    Name = "store calls per answer" // of both stores, minus their calls while nobody reads
	// LoadProcessors is how many processors the load generator used, which were not available to the candidate.
	LoadProcessors Name = "processors of the load generator"
	// The processor time of an answer (of a row, where rows are inserted) during the load, by process.
	LoadTime     Name = "processor time, load generator"
	ServerTime   Name = "processor time, candidate"
	RedisTime    Name = "processor time, Redis"
	DatabaseTime Name = "processor time, database"
)

// units returns the figures in the order in which they are stored, with their units.
func units() []struct {
	name Name
	unit string
} {
	return []struct {
		name Name
		unit string
	}{
		{Answered, "requests"},
		{Refused, "requests"},
		{Rate, "1/s"},
		{P50, "ms"},
		{P99, "ms"},
		{RecordedMeanwhile, "1/s"},
		{RecordedDraining, "1/s"},
		{Backlog, "orders"},
		{Drain, "s"},
		{RowP50, "ms"},
		{RowP99, "ms"},
		{WaitingBytes, "bytes"},
		{RecordedBytes, "bytes"},
		{ServerMemory, "MB"},
		{BodyBytes, "bytes"},
		{StoreCalls, "calls"},
		{LoadProcessors, "processors"},
		{LoadTime, "µs"},
		{ServerTime, "µs"},
		{RedisTime, "µs"},
		{DatabaseTime, "µs"},
	}
}

// Series has one candidate's results over the rounds.
type Series struct {
	Candidate string   `json:"candidate"`
	At        int64    `json:"at,omitempty"` // its point on the axis of a curve
	Figures   []Figure `json:"figures"`
}

// Figure is one quantity.
type Figure struct {
	Name    Name      `json:"name"`
	Unit    string    `json:"unit"`
	Samples []float64 `json:"samples"` // one for each round; 0 where it was not measured
	// Estimated says that at least one sample was computed, not measured to the end.
	Estimated bool `json:"estimated,omitempty"`
}

// Trial has one candidate's results in one round.
type Trial struct {
	Candidate string
	At        int64 // its point on the axis of a curve
	Round     int   // from 1
	Figures   map[Name]float64
	// DrainEstimated says that the drain was computed from the backlog and the speed.
	DrainEstimated bool
}

// Collect groups trials by candidate and point, in the order of their first trials.
func Collect(trials []Trial) []Series {
	var all []Series
	for _, first := range trials {
		same := func(s Series) bool { return s.Candidate == first.Candidate && s.At == first.At }
		if slices.ContainsFunc(all, same) {
			continue
		}
		s := Series{Candidate: first.Candidate, At: first.At}
		for _, u := range units() {
			f := Figure{Name: u.name, Unit: u.unit}
			for _, t := range trials {
				value := t.Figures[u.name]
				if t.Candidate != s.Candidate || t.At != s.At || value == 0 {
					continue
				}
				f.Samples = append(f.Samples, make([]float64, max(0, t.Round-len(f.Samples)))...)
				f.Samples[t.Round-1] = value
				f.Estimated = f.Estimated || u.name == Drain && t.DrainEstimated
			}
			if f.Samples != nil {
				s.Figures = append(s.Figures, f)
			}
		}
		all = append(all, s)
	}
	return all
}

// Figure returns the series' figure with this name; without samples if it was not measured.
func (s Series) Figure(name Name) Figure {
	for _, f := range s.Figures {
		if f.Name == name {
			return f
		}
	}
	return Figure{Name: name}
}

// LeastBacklog is how many orders must wait for the speed of their recording to be meaningful.
const LeastBacklog = 2000
