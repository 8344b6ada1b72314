package httpkit

import (
	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/param"
	"seckill/internal/kit/invalid"
)

// WithID returns a handler that reads the id in the path, at most largest, for one that needs nothing else of it.
func WithID(largest int64, handle func(c *gin.Context, who Identity, id int64) (Answer, error)) Handler {
	return func(c *gin.Context, who Identity) (Answer, error) {
		id, bad := param.ID("id", c.Param("id"), largest)
		if err := invalid.Join(bad); err != nil {
			return Answer{}, err
		}
		return handle(c, who, id)
	}
}

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
