package guards

import "math"

// Proposal describes a sale for which guards are proposed.
type Proposal struct {
	Units     int64 // units for sale
	Crowd     int64 // people who are expected; counts as at least Units
	PerUser   int64 // units that a buyer may have; 0 counts as 1
	Instances int64 // running instances of the service: each gets its part of a share
}

// The assumptions of proposals.
const (
	// addressPeople and networkPeople are the most people behind one address and one network who are all served like
	// everybody else: an office, and the building that it is in. In a small crowd, only a 20th and an 8th of the crowd
	// are: addressPart and networkPart.
	addressPeople, addressPart = 100, 20
	networkPeople, networkPart = 250, 8
	// requestsPerPerson is how many requests a buyer makes in ten seconds: for a challenge, a ticket and a unit, with
	// repetitions.
	requestsPerPerson = 10
	// leastShare is the smallest share, in orders: enough for a family.
	leastShare = 4
	// quicker is a bot's lead over people in milliseconds: half of a mobile round trip. gain is how much more often,
	// as a fraction, the bot may win because of it.
	quicker, gain = 50, 0.05
	leastDelay    = 1500
	delayStep     = 500
)

// Guards returns the proposed guards of a sale. The console, the documents and the benchmark lab/siege all use them.
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

// AddressPeople returns how many people of the crowd may be behind one address and all be served like everybody else.
func (p Proposal) AddressPeople() int64 { return max(1, min(addressPeople, p.Crowd/addressPart)) }

// NetworkPeople is AddressPeople for a network.
func (p Proposal) NetworkPeople() int64 { return max(1, min(networkPeople, p.Crowd/networkPart)) }

// NetworksForAll returns from how many networks buyers must come so that the proposed shares sell all units.
func (p Proposal) NetworksForAll() int64 {
	share := p.share(p.NetworkPeople()) * max(p.Instances, 1)
	return max(1, (p.Units+share-1)/share)
}

// LeftOfTwo returns how many units the proposed shares leave unsold if all buyers are in two networks.
func (p Proposal) LeftOfTwo() int64 {
	return max(0, p.Units-2*p.share(p.NetworkPeople())*max(p.Instances, 1))
}

// share returns the units that one instance may sell to the given number of people. If everybody has the same chance,
// these people win more than the whole share in at most one sale in a thousand: it is four standard deviations above
// the mean. Each instance gets its part, because all may sell to an address within the second in which they do not know
// of each other's sales.
func (p Proposal) share(people int64) int64 {
	mean := float64(people) * float64(p.Units) / float64(max(p.Crowd, p.Units, 1))
	perUser := max(p.PerUser, 1)
	whole := max(float64(leastShare*perUser), math.Ceil(mean+4*math.Sqrt(mean)))
	instances := float64(max(p.Instances, 1))
	return min(MaxShare, max(perUser, int64(math.Ceil(whole/instances))))
}

// delay returns the longest delay of tickets, in milliseconds. It is long enough that a bot wins at most gain more
// often: its gain is quicker × crowd / (delay × units).
func (p Proposal) delay() int64 {
	if p.Units < 1 || p.Crowd <= p.Units {
		return leastDelay
	}
	delay := min(quicker*float64(p.Crowd)/(gain*float64(p.Units)), MaxDelayMs)
	return max(leastDelay, int64(math.Ceil(delay/delayStep-1e-9))*delayStep)
}
