package shop_test

import (
	"seckill/internal/testkit/apitest"
	"seckill/internal/testkit/shoptest"
)

// Names of testkit/shoptest, as the tests of this folder use them.
const (
	adminID    = shoptest.AdminID
	buyerID    = shoptest.BuyerID
	eventsPath = shoptest.EventsPath
	maskedCode = shoptest.MaskedCode
	orderID    = shoptest.OrderID
	raceAllocs = shoptest.RaceAllocs
	wholeCode  = shoptest.WholeCode
)

type (
	API             = shoptest.API
	discard         = shoptest.Discard
	failingVouchers = shoptest.FailingVouchers
	fakeChanges     = shoptest.FakeChanges
	fakeDeadLetters = shoptest.FakeDeadLetters
	fakeLedger      = shoptest.FakeLedger
	fakeListings    = shoptest.FakeListings
	fakeOrders      = shoptest.FakeOrders
	fakePayments    = shoptest.FakePayments
	fakePurchases   = shoptest.FakePurchases
	fakeVouchers    = shoptest.FakeVouchers
	gatekeeper      = shoptest.Gate
	lines           = shoptest.Lines
	notices         = shoptest.Notices
	request         = shoptest.Request
	response        = shoptest.Response
	setup           = shoptest.Setup
	snapshotOf      = shoptest.SnapshotOf
	watch           = shoptest.Watch
)

var (
	asAdmin         = shoptest.AsAdmin
	begin           = shoptest.Begin
	busy            = shoptest.Busy
	buying          = shoptest.Buying
	create          = shoptest.Create
	deadLetter      = shoptest.DeadLetter
	dial            = shoptest.Dial
	do              = shoptest.Do
	doWith          = shoptest.DoWith
	forgeries       = shoptest.Forgeries
	forgeryRules    = shoptest.ForgeryRules
	foundOrder      = shoptest.FoundOrder
	goodBody        = shoptest.GoodBody
	has             = shoptest.Has
	newAPI          = shoptest.NewAPI
	noCoupon        = shoptest.NoCoupon
	noon            = shoptest.Noon
	object          = shoptest.Object
	orderIn         = shoptest.OrderIn
	ordinaryVoucher = shoptest.OrdinaryVoucher
	press           = shoptest.Press
	read            = shoptest.Read
	redisNoon       = shoptest.RedisNoon
	saleStats       = shoptest.SaleStats
	saturate        = shoptest.Saturate
	seckillVoucher  = shoptest.SeckillVoucher
	shows           = shoptest.Shows
	staleVouchers   = shoptest.StaleVouchers
	start           = shoptest.Start
	token           = apitest.Token
	vouchersDown    = shoptest.VouchersDown
	wantProblem     = shoptest.WantProblem
	withCoupon      = shoptest.WithCoupon
	withListings    = shoptest.WithListings
	withLog         = shoptest.WithLog
	withPurchases   = shoptest.WithPurchases
	withSaleStats   = shoptest.WithSaleStats
	withWatch       = shoptest.WithWatch
)
