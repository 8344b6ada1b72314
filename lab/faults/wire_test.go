package faults

import (
	"github.com/redis/go-redis/v9"

	"seckill/internal/testkit"
	"seckill/scripts"
)

// Requests between an instance and its stores at which scenarios cause their faults. A script is recognised by its
// digest, so it must have been called before; the purchases before a fault have done so.
const (
	insertOrders = "into tb_voucher_order"
	commit       = "commit"
)

// digest returns the digest with which a script is called.
func digest(script string) string { return redis.NewScript(script).Hash() }

// admissionAnswered: the script has admitted buyers, and their instance does not know yet.
func admissionAnswered() testkit.Match {
	return testkit.Match{Text: digest(scripts.Source("seckill")), Answered: true}
}

// batchSent: entries are read, and their rows are on the way.
func batchSent() testkit.Match { return testkit.Match{Text: insertOrders} }

// commitSent: the rows are inserted, but not committed.
func commitSent() testkit.Match { return testkit.Match{Text: commit, After: insertOrders} }

// commitAnswered: the rows are committed, and their instance does not know yet.
func commitAnswered() testkit.Match {
	return testkit.Match{Text: commit, After: insertOrders, Answered: true}
}
