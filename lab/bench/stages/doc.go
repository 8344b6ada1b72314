// Package stages has the steps by which designs usually arrive at this service's, each a small server behind the
// service's HTTP side. Each corrects a fault of the previous one, and the benchmark shows both: its speed, and its
// mistakes.
//
//	gin          Gin alone answers with a constant, and checks no token: the limit of the HTTP side
//	bare         the service's own HTTP side accepts every request and does nothing: what its token check and
//	             headers cost
//	check        read the stock, check it, write: sells more than there is
//	update       UPDATE … WHERE stock > 0: sells what there is, but twice to users who ask twice
//	userlock     the same under a lock per user in this process: right as long as there is one process
//	redislock    the same under a lock per user in Redis: right while its lease lasts; a transaction for each purchase
//	ownerless    such a lock without an owner: who is late deletes the next one's
//	checkdelete  its owner is checked by one call, and it is deleted by the next: the lease can end in between
//	unrenewed    the owner is checked by the script that deletes; who takes longer than the lease is not alone
//	renewed      this service's lock, which renews its lease
//	memory       a script in Redis decides, a channel holds the orders for the writer: lost with the process
//	list         LPUSH and BRPOP instead of the channel: what was popped is lost with its consumer
//	pubsub       PUBLISH and SUBSCRIBE: what is sent without a subscriber is lost
//	stream       a stream with a consumer group, as the tutorials do: nothing is lost, one order per transaction
//
// They are fair copies, not caricatures: pools as large as the load, ids, stock and buyers in Redis as usual, as few
// statements and transactions as possible, one writer behind each queue. What the usual designs lack (idempotence,
// reconciliation, batches) they lack too.
package stages
