package faults

import (
	"github.com/redis/go-redis/v9"

	"seckill/internal/testkit"
	"seckill/scripts"
)

// Requests at which scenarios cause their fault, as they pass between an instance and its stores. A script is known
// by its digest: it must have been called before, which the purchases before a fault did.
const (
	insertOrders = "into tb_voucher_order"
	commit       = "commit"
)

// digest is the text by which a script is called.
func digest(script string) string { return redis.NewScript(script).Hash() }

// admissionAnswered: the script has admitted buyers, and their instance does not know yet.
func admissionAnswered() testkit.Match {
	return testkit.Match{Text: digest(scripts.Source("seckill")), Answered: true}
}

// batchSent: entries are read, and their rows are on the way.
func batchSent() testkit.Match { return testkit.Match{Text: insertOrders} }

// commitSent: the rows are inserted, and not committed.
func commitSent() testkit.Match { return testkit.Match{Text: commit, After: insertOrders} }

// commitAnswered: the rows are committed, and their instance does not know yet.
func commitAnswered() testkit.Match {
	return testkit.Match{Text: commit, After: insertOrders, Answered: true}
}
