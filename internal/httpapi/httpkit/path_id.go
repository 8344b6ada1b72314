package httpkit

import (
	"math"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/param"
	"seckill/internal/kit/invalid"
	"seckill/internal/voucher"
)

// PathID returns the id in the path, or *invalid.Error.
func PathID(c *gin.Context) (int64, error) { return pathID(c, math.MaxInt64) }

// PathVoucher returns the id of a voucher in the path, or *invalid.Error.
func PathVoucher(c *gin.Context) (int64, error) { return pathID(c, voucher.MaxID) }

func pathID(c *gin.Context, most int64) (int64, error) {
	id, bad := param.ID("id", c.Param("id"), most)
	return id, invalid.Join(bad)
}

// ByID is a handler that is given the id in the path.
func ByID(h func(c *gin.Context, who Identity, id int64) (Answer, error)) Handler {
	return by(PathID, h)
}

// ByVoucher is a handler that is given the id in the path: of a voucher, or of anything with ids up to voucher.MaxID.
func ByVoucher(h func(c *gin.Context, who Identity, id int64) (Answer, error)) Handler {
	return by(PathVoucher, h)
}

func by(
	path func(*gin.Context) (int64, error), h func(c *gin.Context, who Identity, id int64) (Answer, error),
) Handler {
	return func(c *gin.Context, who Identity) (Answer, error) {
		id, err := path(c)
		if err != nil {
			return Answer{}, err
		}
		return h(c, who, id)
	}
}
