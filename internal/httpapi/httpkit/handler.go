package httpkit

import "github.com/gin-gonic/gin"

// Page returns the first n of what was found, and, if there is more, the cursor of the last of them: next. A handler
// asks for one more than n, which shows whether a page follows.
func Page[T any](found []T, n int, cursor func(T) string) (page []T, next string) {
	if len(found) <= n {
		return found, ""
	}
	return found[:n], cursor(found[n-1])
}

// Refuse returns a handler that always fails with err.
func Refuse(err error) Handler {
	return func(*gin.Context, Identity) (Answer, error) { return Answer{}, err }
}
