// Package guard decides whom a sale lets in besides those whom its window and its stock let in: so that being quick,
// having many accounts, or asking all the time gains little. Each guard is a setting of a sale (guards.Settings, in
// tb_voucher), off by default, and costs a sale that does not use it nothing.
//
//	limits      requests of a user, an address, a network in a time      RATE_LIMITED, once the token is looked at
//	conditions  level and age of the account, from the token             NOT_ELIGIBLE
//	coolDown    orders of the user that expired unpaid, in the ledger   COOL_DOWN
//	tickets     a moment of their own for every buyer (package ticket)    TICKET_REQUIRED, TICKET_INVALID, NOT_STARTED
//	units       the share of one address, and of one network              SHARE_TAKEN
//	challenge   work, for a ticket (package challenge)                    CHALLENGE_REQUIRED
//
// The settings in the ledger are authoritative; an instance knows them from the catalog, so a change reaches all within
// about a second. What a guard decides by is in the request itself (token, address) or in the instance's memory: none
// asks a store while somebody waits. Rule 2 of docs/architecture.md stands before every guard but the limits: whom a
// guard stops is still looked for among the sale's holders, who hear their order.
//
// Package budget has the memory of limits, shares and requests for challenges, cooldown that of expired orders, keys
// what tickets and challenges are signed with. Package tally counts what guards do, and store is what they keep in
// Redis and in the database.
//
// A guard with dryRun stops nobody and counts whom it would have stopped, by the same code.
//
// What can go wrong, and what then happens:
//
//	the stores hang                 all still decide; the cool-down by what was read last, which a restart loses
//	a flood of addresses            the table of rates has a fixed size; who owes least is forgotten first, and let in
//	a million users cool down       they are known two minutes after a start; beyond that, others make room, and are
//	                                let in
//	an instance has no secret       it lets nobody into a sale with tickets: they are told to try again
//	an instance restarts            its table of rates is empty: everybody has a full budget there
//	several instances               each tells the others every second what callers have spent: within that second,
//	                                and while Redis hangs, each lets a caller do as much as the setting says, by
//	                                itself
//	the token has no such claim     a condition on it is not met
package guard
