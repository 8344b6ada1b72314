// Package waitlist keeps waiting lists of sold-out sales. When units come back, it invites users on the list to take
// them, in the order in which they joined.
//
//	waiting ──its turn──► INVITED ──accept──► ACCEPTED ──Redis knows no other order──► bought
//	   ▲ │                 │ │ │                  └──Redis knows one──► refused
//	   │ └─leave─► left    │ │ └──decline──► declined
//	   └──first window─────┘ └──second window──► missed
//	waiting ──its turn, with a standing yes──► ACCEPTED
//
// A standing yes accepts the next invitation in advance. The core keeps the units that come back while the list is
// open. They are counted in the sale's column kept, are neither on sale nor in an order, and Redis knows nothing of
// them. The list's job invites one user for each kept unit. Every instance runs the job; it locks the sale, then the
// list, then the places. When the sale ends, all places end except accepted ones.
// docs/adr/0042-waiting-list-keeps-units.md says why.
//
// What can go wrong, and what then happens:
//
//	the answer to a join is lost      joining again gives the same place
//	the answer to an accept is lost   accepting again gives the same order
//	the process dies after an accept  its operation is pending: the outbox of any instance asks Redis and completes it
//	a rebuild comes between           the operation is void; the job asks again with the same order id
//	the ledger is away                nobody joins or is invited; deadlines go by the ledger's clock
//	Redis is away                     invitations go on and end; users who accepted wait
//	the process dies in the job       another instance's job, or the next one here, finds what is due
package waitlist
