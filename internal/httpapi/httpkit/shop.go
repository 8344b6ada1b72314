package httpkit

import (
	"context"
	"errors"

	"github.com/gin-gonic/gin"

	"seckill/internal/authtoken"
	"seckill/internal/order"
	"seckill/internal/voucher"
)

// ErrNoShop says that there is no such shop, or that it is not the caller's.
var ErrNoShop = errors.New("there is no such shop for this caller")

// Owner returns nil if the thing that a request names belongs to the merchant's shop, and otherwise the same error as
// if it did not exist. It is not called for admins.
type Owner func(c *gin.Context, shop int64) error

// ByHandler is the Owner of routes that name nothing, or whose handlers check Identity.Only or Identity.Within.
func ByHandler(*gin.Context, int64) error { return nil }

// Only returns the only shop that the caller may see and change; 0: all shops.
func (who Identity) Only() int64 {
	if who.Role == authtoken.RoleMerchant {
		return who.Shop
	}
	return 0
}

// Within returns the shop to which a request is restricted. shopID is the shop that it asks for, 0 for all. Error:
// ErrNoShop.
func (who Identity) Within(shopID int64) (int64, error) {
	switch only := who.Only(); {
	case only == 0 || only == shopID:
		return shopID, nil
	case shopID == 0:
		return only, nil
	default:
		return 0, ErrNoShop
	}
}

// OwnVoucher returns the owner of the voucher in the path. shopOf returns a voucher's shop, or voucher.ErrNotFound.
func OwnVoucher(shopOf func(ctx context.Context, voucherID int64) (int64, error)) Owner {
	return func(c *gin.Context, shop int64) error {
		id, err := PathVoucher(c)
		if err != nil {
			return err
		}
		return Owns(c.Request.Context(), shopOf, shop, id)
	}
}

// Owns returns nil if the voucher belongs to the shop. Errors: voucher.ErrNotFound, and those of shopOf.
func Owns(
	ctx context.Context, shopOf func(ctx context.Context, voucherID int64) (int64, error), shop, voucherID int64,
) error {
	theirs, err := shopOf(ctx, voucherID)
	if err == nil && theirs != shop {
		err = voucher.ErrNotFound
	}
	return err
}

// OwnOrder returns the owner of the order in the path. find returns an order, or order.ErrNotFound; shopOf the shop of
// its voucher, or voucher.ErrNotFound.
func OwnOrder(
	find func(ctx context.Context, id int64) (order.Order, error),
	shopOf func(ctx context.Context, voucherID int64) (int64, error),
) Owner {
	return func(c *gin.Context, shop int64) error {
		id, err := PathID(c)
		if err != nil {
			return err
		}
		o, err := find(c.Request.Context(), id)
		if err != nil {
			return err
		}
		theirs, err := shopOf(c.Request.Context(), o.VoucherID)
		if errors.Is(err, voucher.ErrNotFound) || err == nil && theirs != shop {
			return order.ErrNotFound
		}
		return err
	}
}
