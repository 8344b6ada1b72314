// Package lazyconn spares the kernel and the scheduler most of what net/http asks of a connection for each request besides reading
// and writing: seven deadlines, and a goroutine that reads meanwhile to see whether the caller hangs up, which has to be woken and
// waited for when the answer is there.
//
//   - A deadline is set at the socket only when something is read or written under it, and not again while the one that is
//     there ends less than a second sooner. So a deadline holds to the second.
//   - Whether the caller hangs up is looked at only in requests that last longer than [LookAfter]. Then their context ends, as it
//     does with net/http alone. An answer that comes sooner is written to a caller who may have gone, which does no harm: what
//     was bought is bought, and their next request says so.
//
// net/http looks by reading one byte. The first such read after a longer one is answered with no byte and no error, which io.Reader
// allows ("nothing happened"), and net/http then does not look any more. A read that follows is always a real one, so that
// nothing depends on what net/http reads for: were it to look otherwise, it would only cost more.
//
// What it saves is in docs/benchmarks.md.
package lazyconn
