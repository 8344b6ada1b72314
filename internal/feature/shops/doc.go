// Package shops gives shops a name, and bounds of their own to their merchants.
//
// The rows of tb_shop are authoritative. A shop without a row exists like any other: its name is made of its number,
// and the settings bound it. Bounds are read from the database with each change that they limit, and so hold for the
// next one on all instances. Names are only shown; each instance keeps some in memory, for ten seconds.
//
// What can go wrong, and what then happens:
//
//	the ledger is away              names are the last ones known; lists show the others by their numbers. Merchants
//	                                create no sale
//	the answer to a change is lost  the same change again changes nothing, and gives the same answer
//	two people change a shop        each field has the value of the later one; the audit trail has both
//	a setting is lowered            it holds: a shop's own bounds only lower it
//	an instance of an older version serves a merchant: the settings alone bound them
package shops
