package httpapi

import (
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/voucher"
)

// createOrdinary answers POST /voucher.
func (a *API) createOrdinary(c *gin.Context, who identity) (answer, error) {
	var d voucher.Draft
	if err := a.readBody(c, draftFields(&d)...); err != nil {
		return answer{}, err
	}
	v, err := a.cfg.Vouchers.CreateOrdinary(c.Request.Context(), author(c, who), d)
	return created(v, err)
}

// createSeckill answers POST /voucher/seckill.
func (a *API) createSeckill(c *gin.Context, who identity) (answer, error) {
	var (
		d  voucher.Draft
		sd voucher.SaleDraft
	)
	fields := append(draftFields(&d),
		required(integerField("stock", &sd.Stock)),
		required(a.timeField("beginTime", &sd.Begin)),
		required(a.timeField("endTime", &sd.End)),
	)
	if err := a.readBody(c, fields...); err != nil {
		return answer{}, err
	}
	v, err := a.cfg.Vouchers.CreateSeckill(c.Request.Context(), author(c, who), d, sd)
	return created(v, err)
}

// draftFields are the fields that both kinds of voucher are created from.
func draftFields(d *voucher.Draft) []bodyField {
	return []bodyField{
		required(integerField("shopId", &d.ShopID)),
		required(textField("title", &d.Title)),
		textField("subTitle", &d.SubTitle),
		textField("rules", &d.Rules),
		required(integerField("payValue", &d.PayValue)),
		required(integerField("actualValue", &d.ActualValue)),
		secondsField("payWithinSeconds", &d.PayWithin),
	}
}

func created(v voucher.Shown, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	return answer{
		status: http.StatusCreated, location: "/voucher/" + strconv.FormatInt(v.ID, 10),
		envelope: envelope{Data: voucherView(v)},
	}, nil
}

// showVoucher answers GET /voucher/:id.
func (a *API) showVoucher(c *gin.Context, _ identity) (answer, error) {
	id, badID := pathID(c, "id", voucher.MaxID)
	if err := invalid(badID); err != nil {
		return answer{}, err
	}
	v, now, err := a.cfg.Vouchers.Get(c.Request.Context(), id)
	if err != nil {
		return answer{}, err
	}
	view := voucherView(v)
	view.ServerTime = timeView(now)
	return answer{status: http.StatusOK, envelope: envelope{Data: view}}, nil
}

// listVouchers answers GET /voucher/list/:shopId.
func (a *API) listVouchers(c *gin.Context, _ identity) (answer, error) {
	shopID, badID := pathID(c, "shopId", voucher.MaxID)
	if err := invalid(badID); err != nil {
		return answer{}, err
	}
	vs, total, now, err := a.cfg.Vouchers.List(c.Request.Context(), shopID)
	if err != nil {
		return answer{}, err
	}
	views := make([]voucherJSON, len(vs))
	for i, v := range vs {
		views[i] = voucherView(v)
	}
	return answer{status: http.StatusOK, envelope: envelope{Data: views, Total: &total, ServerTime: timeView(now)}}, nil
}

// voucherJSON is a voucher as people read it.
type voucherJSON struct {
	ID          int64          `json:"id"`
	ShopID      int64          `json:"shopId"`
	Title       string         `json:"title"`
	SubTitle    string         `json:"subTitle"`
	Rules       string         `json:"rules"`
	PayValue    int64          `json:"payValue"`    // cents
	ActualValue int64          `json:"actualValue"` // cents
	PayWithin   int64          `json:"payWithinSeconds"`
	Type        voucher.Kind   `json:"type"`
	Status      voucher.Status `json:"status"`
	*saleJSON                  // seckill vouchers only
	CreateTime  *time.Time     `json:"createTime,omitempty"`
	UpdateTime  *time.Time     `json:"updateTime,omitempty"`
	ServerTime  *time.Time     `json:"serverTime,omitempty"` // when the voucher is asked for alone
}

// saleJSON is what a seckill voucher has besides.
type saleJSON struct {
	Stock     int64             `json:"stock"`  // left to sell
	Issued    int64             `json:"issued"` // in all
	BeginTime time.Time         `json:"beginTime"`
	EndTime   time.Time         `json:"endTime"` // exclusive
	SaleState voucher.SaleState `json:"saleState"`
}

func voucherView(v voucher.Shown) voucherJSON {
	view := voucherJSON{
		ID: v.ID, ShopID: v.ShopID, Title: v.Title, SubTitle: v.SubTitle, Rules: v.Rules,
		PayValue: v.PayValue, ActualValue: v.ActualValue, PayWithin: int64(v.PayWithin / time.Second), Type: v.Kind, Status: v.Status,
		CreateTime: timeView(v.CreatedAt), UpdateTime: timeView(v.UpdatedAt),
	}
	if v.Sale == nil {
		return view
	}
	view.saleJSON = &saleJSON{
		Stock: v.Sale.Stock, Issued: v.Sale.Issued,
		BeginTime: shownTime(v.Sale.Begin), EndTime: shownTime(v.Sale.End), SaleState: voucher.StatePreparing,
	}
	if v.Live != nil {
		view.Stock, view.SaleState = v.Live.Stock, v.Live.State
	}
	return view
}
