package guards

import "math"

// Proposal is for which sale guards are proposed.
type Proposal struct {
	Units     int64 // for sale
	Crowd     int64 // people who are expected
	PerUser   int64 // units that one may buy; 0 is 1
	Instances int64 // of the service that run: each has its part of a share
}

// The assumptions of proposals.
const (
	// addressPeople and networkPeople are how many people an address and a network have at most, for all of them to be
	// served as everybody is: those of an office, and of the building that it is in; of a small crowd a part.
	addressPeople, addressPart = 100, 20
	networkPeople, networkPart = 250, 8
	// requestsPerPerson is how often one asks in ten seconds: for a challenge, a ticket and a unit, and again.
	requestsPerPerson = 10
	// leastShare is the smallest share, in orders: a family.
	leastShare = 4
	// quicker is by how many milliseconds a bot is quicker, half of a mobile round trip, and gain by which part more
	// often it may win for that.
	quicker, gain = 50, 0.05
	leastDelay    = 1500
	delayStep     = 500
)

// Guards are what is proposed for a sale: the one source of the console, the documents and the siege. The crowd is at
// least what is for sale.
func (p Proposal) Guards() *Settings {
	return &Settings{
		Limits: &Limits{
			PerAddress: &Rate{addressPeople * requestsPerPerson, 10},
			PerNetwork: &Rate{networkPeople * requestsPerPerson, 10},
			PerUser:    &Rate{requestsPerPerson, 10},
		},
		Conditions: &Conditions{MinAgeDays: 7},
		CoolDown:   &CoolDown{Expired: 2, Minutes: 60},
		Tickets:    &Tickets{DelayMs: p.delay(), LeadMinutes: 10, ExpiryMinutes: 30},
		Challenge:  &Challenge{Difficulty: 16, MaxDifficulty: 32},
		Units:      &Units{PerAddress: p.share(p.AddressPeople()), PerNetwork: p.share(p.NetworkPeople())},
	}
}

// AddressPeople is how many of the crowd may be behind one address and be served as everybody is.
func (p Proposal) AddressPeople() int64 { return max(1, min(addressPeople, p.Crowd/addressPart)) }

// NetworkPeople is the same of a network.
func (p Proposal) NetworkPeople() int64 { return max(1, min(networkPeople, p.Crowd/networkPart)) }

// share is a number of units that the given number of people exceed in one sale of a thousand at most, if all have the
// same chance: four standard deviations above their mean. Each instance has its part, because all may sell to an
// address within the second in which they do not know of each other.
func (p Proposal) share(people int64) int64 {
	mean := float64(people) * float64(p.Units) / float64(max(p.Crowd, p.Units, 1))
	perUser := max(p.PerUser, 1)
	whole := max(float64(leastShare*perUser), math.Ceil(mean+4*math.Sqrt(mean)))
	instances := float64(max(p.Instances, 1))
	return min(MaxShare, max(perUser, int64(math.Ceil(whole/instances))))
}

// delay is the longest delay of tickets: so long that being quicker gains the stated part at most. A gain is quicker ×
// crowd / (delay × units).
func (p Proposal) delay() int64 {
	if p.Units < 1 || p.Crowd <= p.Units {
		return leastDelay
	}
	delay := min(quicker*float64(p.Crowd)/(gain*float64(p.Units)), MaxDelayMs)
	return max(leastDelay, int64(math.Ceil(delay/delayStep-1e-9))*delayStep)
}
