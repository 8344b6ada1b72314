package sqlkit

import "gorm.io/gorm"

// commits are what is to be done once a transaction is committed. Its context has them.
type commits []func()

type commitsKey struct{}

func (c *commits) run() {
	for _, f := range *c {
		f()
	}
}

// AfterCommit has f called once the transaction is committed. It is not called where the answer to COMMIT was lost. It
// must not block.
func AfterCommit(tx *gorm.DB, f func()) {
	if c, in := tx.Statement.Context.Value(commitsKey{}).(*commits); in {
		*c = append(*c, f)
	}
}
