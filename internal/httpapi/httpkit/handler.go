package httpkit

import "github.com/gin-gonic/gin"

// Page trims found to n items and returns the cursor of the next page, if any. A handler reads n+1 items to learn
// whether a page follows.
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
