// Package recorder moves accepted orders from a partition's stream into the ledger: fetch, commit, acknowledge.
//
// The ledger is authoritative. The stream is a queue with redelivery: an entry may be delivered any number of times, to
// any instance, with the same outcome every time, because the order's id decides.
//
// What can go wrong, and what then happens:
//
//	the process dies while recording  the entry stays pending and is taken over once the heartbeat has stopped
//	COMMIT's answer is lost           the batch is retried, and found recorded
//	the ledger is away                recording waits and retries; admission goes on until the backlog's limit
//	it is away for one instance       that stops its heartbeat, and others take over the entries it has read
//	the ledger contradicts Redis      the order becomes a failed row with its reason; the sale is rebuilt
//	                                  (resolution.go)
//	the ledger rejects a batch        it is halved until the order at fault stands alone and becomes a failed row
//	it fails with an unknown error    the batch is retried; if that lasts for a minute while a transaction without
//	                                  orders is committed, it is halved likewise, and the order stays pending:
//	                                  staff decide
//	a cancelled order is redelivered  its operation is applied first; only a unit that a late admission took is
//	                                  given back as well
//	XACK fails                        the entry is delivered again, and found recorded
//	an entry cannot be decoded        it becomes a dead letter; the others go on (dead_letters.go)
package recorder
