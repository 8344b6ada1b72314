// Package journal remembers why users got nothing in a sale: each instance notes a user's first final refusal there,
// and when the sale was sold out. It answers "why not I?", for buyers and for staff.
//
//	answer of a purchase ──► Journal.Refused ──► memory of the sale ──► once the rush is over: Writer ──► tb_refusal
//	Redis's answers while sold out ──► Journal.Observed ──► spans ──────► every 5 s: Writer ──► tb_sale_journal
//
// A refusal costs a purchase one look-up in a map, and a user's first one an entry of some 100 bytes. An accepted
// purchase costs nothing. No request waits for a store.
//
// Times of refusals are this instance's estimate of Redis's clock, with a bound. Spans are exact: a span begins and
// ends with an answer of the script that no unit was left, and nobody was admitted between the two. The reader merges
// the spans of all instances, and takes a user's earliest refusal.
//
// What can go wrong, and what then happens:
//
//	more users than there is room     the later ones are counted, not remembered
//	one address with many accounts    once the memory is half full, an address has room for a 64th of it
//	more than 200 spans               the later ones are counted
//	the ledger is away                what was noted stays in memory and is written later
//	an instance is stopped            it writes the rest within a bound
//	an instance is killed             what it had not written is lost; its row in tb_sale_journal says how much
//	the reply to a write is lost      it is written again, which changes nothing
package journal
