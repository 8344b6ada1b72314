package test

import (
	"github.com/redis/go-redis/v9"

	"seckill/internal/testkit"
	"seckill/scripts"
)

// The moments at which scenarios strike, as they pass on the wire between an instance and its stores. A script is known
// by its digest, so it must have been called before, which the traffic before a fault has done.
const (
	insertOrders = "into tb_voucher_order"
	commit       = "commit"
)

// digest is the text by which a script is called.
func digest(script string) string { return redis.NewScript(script).Hash() }

// admissionAnswered: the script has let buyers in, and their instance does not know yet.
func admissionAnswered() testkit.Moment {
	return testkit.Moment{Text: digest(scripts.Seckill), Answered: true}
}

// batchSent: entries were read, and their rows are on the way.
func batchSent() testkit.Moment { return testkit.Moment{Text: insertOrders} }

// commitSent: the rows are inserted, and not committed.
func commitSent() testkit.Moment { return testkit.Moment{Text: commit, After: insertOrders} }

// commitAnswered: the rows are committed, and their instance does not know yet.
func commitAnswered() testkit.Moment {
	return testkit.Moment{Text: commit, After: insertOrders, Answered: true}
}
