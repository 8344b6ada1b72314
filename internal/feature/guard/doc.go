// Package guard decides which of the callers that a sale's window and stock let in may enter, so that being quick,
// having many accounts, or asking all the time gains little. Each guard is a setting of a sale (guards.Settings, in
// tb_voucher), off by default, and costs a sale that does not use it nothing.
//
//	limits      requests of a user, an address, a network in a time      RATE_LIMITED, right after the token's check
//	conditions  level and age of the account, from the token             NOT_ELIGIBLE
//	coolDown    orders of the user that expired unpaid, in the ledger   COOL_DOWN
//	tickets     a moment of their own for every buyer (package ticket)    TICKET_REQUIRED, TICKET_INVALID, NOT_STARTED
//	units       the share of one address, and of one network              SHARE_TAKEN, SHARE_BUSY
//	challenge   work, for a ticket (package challenge)                    CHALLENGE_REQUIRED
//
// The settings in the ledger are authoritative; an instance knows them from the catalog, so a change reaches all
// instances within about a second. A guard decides by the request itself (token, address) or by the instance's memory:
// none asks a store while somebody waits. Rule 2 of docs/architecture.md comes before every guard but the limits: a
// caller whom a guard stops is still looked up among the sale's holders, and gets their order if they have one.
//
// Package budget has the memory of limits, shares and requests for challenges, cooldown that of expired orders, and
// keys derives the keys that sign tickets and challenges. Package tally counts the guards' decisions, and store keeps
// their data in Redis and in the database.
//
// A guard with dryRun stops nobody and counts the requests that it would have stopped, by the same code.
//
// What can go wrong, and what then happens:
//
//	the stores hang                 all still decide; the cool-down by its last read, which a restart loses
//	a flood of addresses            the table of budgets has a fixed size; those that owe least are forgotten first,
//	                                and let in
//	a million users cool down       they are known two minutes after a start; beyond that, others make room, and are
//	                                let in
//	an instance has no secret       it lets nobody into a sale with tickets, and answers that they may try again
//	an instance restarts            its table of budgets is empty: everybody has a full budget there
//	several instances               each publishes every second how much callers have spent: within that second,
//	                                and while Redis hangs, each lets a caller do as much as the setting says, by
//	                                itself
//	the token has no such claim     a condition on it is not met
package guard
