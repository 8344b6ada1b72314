// Package waitlist invites those who wait for a sold-out sale to take units that come back, in the order in which they
// joined.
//
//	waiting ──its turn──► INVITED ──accept──► ACCEPTED ──Redis knows no other order──► bought
//	   ▲ │                 │ │ │                  └──Redis knows one──► refused
//	   │ └─leave─► left    │ │ └──decline──► declined
//	   └──first window─────┘ └──second window──► missed
//	waiting ──its turn, with a standing yes──► ACCEPTED
//
// The core keeps the units: those that come back while the list is open are in the sale's column kept, neither on sale
// nor in an order, and Redis knows nothing of them. The list's job invites one person for each of them. Every instance
// runs the job; it works under the sale's lock, then the list's, then the places'. When the sale ends, so do all places
// but the accepted ones. docs/adr/0042-waiting-list-keeps-units.md says why.
//
// What can go wrong, and what then happens:
//
//	the answer to a join is lost      joining again gives the same place
//	the answer to an accept is lost   accepting again gives the same order
//	the process dies after an accept  its operation is pending: any outbox has Redis asked, and completes it
//	a rebuild comes between           the operation is void; the job asks again with the same order id
//	the ledger is away                nobody joins or is invited; deadlines go by the ledger's clock
//	Redis is away                     invitations go on and end; users who accepted wait
//	the process dies in the job       another instance's job, or the next one here, finds what is due
package waitlist
