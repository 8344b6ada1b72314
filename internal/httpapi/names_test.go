package httpapi_test

import (
	"seckill/internal/httpapi"
	"seckill/internal/testkit/apitest"
	"seckill/internal/testkit/shoptest"
)

// Names of testkit/shoptest, as the tests of this folder use them.
const (
	adminID              = shoptest.AdminID
	buyerID              = shoptest.BuyerID
	checkTimeout         = httpapi.CheckTimeout
	demoAdminID          = httpapi.DemoAdminID
	demoBuyersAtOnce     = httpapi.DemoBuyersAtOnce
	eventsPath           = shoptest.EventsPath
	failedTokensAtOnce   = httpapi.FailedTokensAtOnce
	failureLogsPerSecond = httpapi.FailureLogsPerSecond
	firstDemoUser        = httpapi.FirstDemoUser
	healthzBody          = httpapi.HealthzBody
	healthzPath          = httpapi.HealthzPath
	orderID              = shoptest.OrderID
	raceAllocs           = shoptest.RaceAllocs
	readyzPath           = httpapi.ReadyzPath
	reportAge            = httpapi.ReportAge
	testBodyLimit        = shoptest.TestBodyLimit
)

type (
	API             = shoptest.API
	demoTokenJSON   = httpapi.DemoTokenJSON
	discard         = shoptest.Discard
	failingVouchers = shoptest.FailingVouchers
	fakeChanges     = shoptest.FakeChanges
	fakeDeadLetters = shoptest.FakeDeadLetters
	fakeLedger      = shoptest.FakeLedger
	fakeOrders      = shoptest.FakeOrders
	fakePayments    = shoptest.FakePayments
	fakePurchases   = shoptest.FakePurchases
	fakeVouchers    = shoptest.FakeVouchers
	lines           = shoptest.Lines
	notices         = shoptest.Notices
	request         = shoptest.Request
	setup           = shoptest.Setup
)

var (
	asAdmin           = shoptest.AsAdmin
	begin             = shoptest.Begin
	busy              = shoptest.Busy
	buying            = shoptest.Buying
	create            = shoptest.Create
	deadLetter        = shoptest.DeadLetter
	dial              = shoptest.Dial
	do                = shoptest.Do
	doWith            = shoptest.DoWith
	errBadToken       = httpapi.ErrBadToken
	errCoupon         = shoptest.ErrCoupon
	forgeries         = shoptest.Forgeries
	forgeryRules      = shoptest.ForgeryRules
	goodBody          = shoptest.GoodBody
	has               = shoptest.Has
	newAPI            = shoptest.NewAPI
	newAuthenticator  = httpapi.NewAuthenticator
	noon              = shoptest.Noon
	object            = shoptest.Object
	orderIn           = shoptest.OrderIn
	ordinaryVoucher   = shoptest.OrdinaryVoucher
	partitionsOrError = shoptest.PartitionsOrError
	providersOrError  = shoptest.ProvidersOrError
	press             = shoptest.Press
	read              = shoptest.Read
	reads             = shoptest.Reads
	redisNoon         = shoptest.RedisNoon
	rules             = httpapi.Rules
	rushRules         = httpapi.RushRules
	saleStats         = shoptest.SaleStats
	saturate          = shoptest.Saturate
	seckillVoucher    = shoptest.SeckillVoucher
	secret            = shoptest.Secret
	shows             = shoptest.Shows
	staleVouchers     = shoptest.StaleVouchers
	start             = shoptest.Start
	testSetup         = shoptest.TestSetup
	token             = apitest.Token
	wantProblem       = shoptest.WantProblem
	withCoupon        = shoptest.WithCoupon
	withListings      = shoptest.WithListings
	withLog           = shoptest.WithLog
	withPurchases     = shoptest.WithPurchases
	withSaleStats     = shoptest.WithSaleStats
	withWatch         = shoptest.WithWatch
)
