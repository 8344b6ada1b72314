package alerts

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/kit/signature"
	"seckill/internal/order/payment"
	"seckill/test/box"
	"seckill/test/webhooks/receiver"
)

// fault is one fault, with the alerts that it must fire; it may fire others too.
type fault struct {
	name    string
	alerts  []string
	on      deployment
	provoke func(*rig)
}

// faults returns all of them, except the one in TestAlertsNotSent.
func faults() []fault {
	one := func(name, value string) deployment { return deployment{settings: map[string]string{name: value}} }
	return []fault{
		{"an instance dies", []string{"SeckillInstanceDown"}, deployment{}, instanceKilled},
		{
			"the database hangs in the middle of a sale",
			[]string{
				"SeckillOrdersNotRecorded", "SeckillRecordingBehind", "SeckillAuditStalled", "SeckillSalesNotCompared",
				"SeckillPurchasesSlow", "SeckillConnectionsShed",
			},
			deployment{},
			databaseHangs,
		},
		{"the database is away", []string{"SeckillWaitlistStandsStill"}, deployment{}, databaseAway},
		{"Redis is away while a sale is paused", []string{"SeckillOperationsNotApplied"}, deployment{}, redisAway},
		{"Redis's answers are lost", []string{"SeckillUnknownOutcomes"}, deployment{}, answersLost},
		{
			"Redis dies with its last writes, and an instance with it",
			[]string{"SeckillRedisLostWrites", "SeckillOrdersUnaccounted"},
			deployment{instances: 2},
			redisAndInstanceKilled,
		},
		{"a table is missing", []string{"SeckillInternalErrors"}, deployment{}, tableMissing},
		{
			"the database has fewer units than Redis sells", []string{
				"SeckillOrdersFailed", "SeckillUnitsUnaccounted",
			}, deployment{}, unitsMissing,
		},
		{
			"the database has units that nobody issued", []string{
				"SeckillSalePausedByAudit",
			}, deployment{}, unitsOfNowhere,
		},
		{"the database loses that a sale was paused", []string{"SeckillDecisionLost"}, deployment{}, pauseLost},
		{"an entry of the stream is no order", []string{"SeckillDeadLetter"}, deployment{}, entryUnreadable},
		{"a key of a partition is of another type", []string{"SeckillSaleNotAudited"}, one("SECKILL_PARTITIONS",
			"2"), keyOfAnotherType},
		{
			"a sale has gone from Redis while its row is locked", []string{
				"SeckillRepairsWait", "SeckillRebuildFails",
			}, deployment{}, saleGone,
		},
		{
			"an instance without its database does not learn of a partition",
			[]string{"SeckillInstanceMissesPartition"},
			deployment{instances: 2},
			partitionNotLearned,
		},
		{
			"the payment provider was taken out of the settings", []string{
				"SeckillRefundsFail",
			}, deployment{}, providerRemoved,
		},
		{
			"the payment provider over HTTP gives no clear answers", []string{"SeckillProviderFails"}, deployment{
				settings: map[string]string{
					"SECKILL_PAYMENT_PROVIDER": "auto", "SECKILL_PAYMENT_SECRET": "",
					"SECKILL_PAYMENT_PROVIDERS":        "cards=http://127.0.0.1:1/",
					"SECKILL_PAYMENT_PROVIDER_SECRETS": "cards=" + signature.NewSecret(),
				},
			}, providerAway,
		},
		{
			"the payment provider refuses refunds for good, and buyers dispute payments", []string{
				"SeckillRefundsStuck", "SeckillPaymentsDisputed", "SeckillRefundPartsFailed",
				"SeckillPaymentsOverdrawn",
			}, deployment{sale: map[string]any{"payValue": 10_13}}, refundRefused,
		},
		{
			"notices of the payment provider with another secret, and of a payment that nobody knows", []string{
				"SeckillNoticesRefused", "SeckillMoneyUnknown",
			}, deployment{}, noticesRefused,
		},
		{"more ask than an instance can serve", []string{"SeckillOverloaded"}, one("SECKILL_MAX_IN_FLIGHT",
			"10"), overloaded},
		{"more connect than an instance has room for", []string{"SeckillConnectionsRefused"}, one(
			"SECKILL_MAX_CONNECTIONS", "10"), crowded},
		{
			"a crowd of accounts that a guard stops",
			[]string{"SeckillGuardsStop"},
			deployment{sale: map[string]any{"guards": map[string]any{"conditions": map[string]any{"minAgeDays": 7}}}},
			bots,
		},
		{"a webhook endpoint is away", []string{"SeckillWebhooksWait"}, one("SECKILL_WEBHOOK_ALLOW",
			"127.0.0.0/8"), endpointAway},
		{"a webhook endpoint refuses one event", []string{"SeckillWebhookDeadLetters"}, one("SECKILL_WEBHOOK_ALLOW",
			"127.0.0.0/8"), endpointRefusesOne},
	}
}

// notProvoked returns the alerts that no fault here fires, and why. rules_test.yml tests them with made-up metrics.
func notProvoked() map[string]string {
	return map[string]string{
		"SeckillPoolExhausted": "classes of callers share exactly as many connections as a pool has, so " +
			"nobody waits in the pool itself: it would be a defect of the service, not a fault around it",
	}
}

func instanceKilled(r *rig) { r.must(r.Servers[0].Kill()) }

// databaseHangs lets some buyers wait for their row, and admins start more reads at once than there are connections.
func databaseHangs(r *rig) {
	r.toDB[0].Blackhole()
	r.meanwhile(200*time.Millisecond, 1, r.buy)
	r.meanwhile(200*time.Millisecond, 8, func() { r.buyAt(0, 10*time.Second) })
	r.meanwhile(200*time.Millisecond, 40, func() { r.ask(0, http.MethodGet, "/admin/audit", box.AdminToken()) })
}

func databaseAway(r *rig) { r.toDB[0].Cut() }

func redisAway(r *rig) {
	r.toRedis[0].Cut()
	r.admin(http.StatusAccepted, fmt.Sprintf("/voucher/%d/pause", r.sale), nil)
}

func answersLost(r *rig) {
	r.toRedis[0].DropRepliesTo("evalsha", 1<<30)
	r.meanwhile(100*time.Millisecond, 8, r.buy)
}

// redisAndInstanceKilled lets an instance accept orders that nobody reads from the stream, and kills it and Redis. The
// last writes are cut off Redis's file, as by a power cut. The other instance has seen a later admission, so it knows
// that some orders are missing.
func redisAndInstanceKilled(r *rig) {
	const orders = 20
	for i, p := range r.toRedis {
		p.Refuse("xreadgroup")
		box.Eventually(r, fmt.Sprintf("instance %d reading nothing", i), func() error {
			if p.Refused() == 0 {
				return fmt.Errorf("its last reading is under way")
			}
			return nil
		})
	}
	file := r.appendOnlyFile()
	before, err := os.Stat(file)
	r.must(err)
	for i := range orders + 1 {
		if _, a := r.buyAt(1-i/orders, 0); a.StatusCode != http.StatusAccepted { // the last one at the other instance
			r.Fatalf("a purchase: %d %s", a.StatusCode, a.Body)
		}
	}
	r.must(r.Servers[1].Kill())
	r.store.Kill()
	r.must(os.Truncate(file, before.Size()))
	r.meanwhile(20*time.Millisecond, 4, r.buy)
	r.store.Start()
	r.toRedis[0].Heal()
}

// appendOnlyFile returns the file to which Redis appends.
func (r *rig) appendOnlyFile() string {
	r.Helper()
	for _, pattern := range []string{"appendonlydir/*.incr.aof", "appendonly.aof"} { // since Redis 7, and before
		files, err := filepath.Glob(filepath.Join(r.store.Dir, pattern))
		r.must(err)
		if len(files) > 0 {
			return files[len(files)-1]
		}
	}
	r.Fatalf("no append-only file in %s", r.store.Dir)
	return ""
}

func tableMissing(r *rig) {
	r.exec("RENAME TABLE tb_audit TO tb_audit_away")
	r.meanwhile(time.Second, 1, func() { r.ask(0, http.MethodGet, "/admin/audit", box.AdminToken()) })
}

func unitsMissing(r *rig) {
	r.meanwhile(200*time.Millisecond, 1, r.buy)
	r.exec("UPDATE tb_seckill_voucher SET stock = 5 WHERE voucher_id = ?", r.sale)
}

func unitsOfNowhere(r *rig) {
	r.exec("UPDATE tb_seckill_voucher SET stock = stock + 50 WHERE voucher_id = ?", r.sale)
}

// pauseLost pauses the sale, and takes that out of the database once Redis has it.
func pauseLost(r *rig) {
	a := r.ask(0, http.MethodPost, fmt.Sprintf("/voucher/%d/pause", r.sale), box.AdminToken())
	if a.StatusCode >= http.StatusMultipleChoices { // 200, or 202 if Redis has not applied it yet
		r.Fatalf("pausing: %d %s", a.StatusCode, a.Body)
	}
	r.AwaitState(r, r.sale, "paused")
	box.Eventually(r, "the pause being complete", func() error {
		var pending int
		err := r.Ledger.DB.QueryRowContext(r.Context(),
			"SELECT COUNT(*) FROM tb_voucher_operation WHERE voucher_id = ? AND state = 1", r.sale).Scan(&pending)
		if err == nil && pending > 0 {
			err = fmt.Errorf("%d operations are pending", pending)
		}
		return err
	})
	r.exec("DELETE FROM tb_voucher_operation WHERE voucher_id = ?", r.sale)
	r.exec("UPDATE tb_seckill_voucher SET last_operation = 0, paused = FALSE WHERE voucher_id = ?", r.sale)
}

func entryUnreadable(r *rig) {
	r.must(r.Redis.XAdd(r.Context(), &redis.XAddArgs{
		Stream: r.Redis.StreamKey(), Values: map[string]string{"v": fmt.Sprint(r.sale), "u": "forty-two", "o": "?"},
	}).Err())
}

// keyOfAnotherType writes a text where a partition's dead letters belong: its sales go on, but cannot be audited.
func keyOfAnotherType(r *rig) {
	r.create(map[string]any{"partition": 0})
	r.create(map[string]any{"partition": 1})
	r.Redis.Partition = 1
	r.must(r.Redis.Set(r.Context(), r.Redis.DeadKey(), "x", 0).Err())
}

func saleGone(r *rig) {
	r.Ledger.LockSale(r, r.sale)
	r.must(r.Redis.Del(r.Context(), r.Redis.SaleKey(r.sale)).Err())
	r.meanwhile(200*time.Millisecond, 1, r.buy)
}

func partitionNotLearned(r *rig) {
	r.toDB[1].Cut()
	r.exec("INSERT INTO tb_setting VALUES ('partition_1', 'open', UTC_TIMESTAMP(3))")
}

// providerRemoved lets the buyer of a paid order ask for a refund from a provider that is no longer configured.
func providerRemoved(r *rig) {
	user, a := r.buyAt(0, 30*time.Second)
	order := orderOf(a)
	if paid := r.pay(user, order); paid.StatusCode != http.StatusOK {
		r.Fatalf("paying for order %q: %d %s", order, paid.StatusCode, paid.Body)
	}
	server := r.Servers[0]
	server.Settings = maps.Clone(server.Settings)
	server.Settings["SECKILL_PAYMENT_PROVIDER"] = "none"
	delete(server.Settings, "SECKILL_PAYMENT_SECRET") // without a provider it is refused
	r.must(server.KillAndStart())
	r.Client.Must(r, http.StatusAccepted,
		box.Request{Method: http.MethodPost, URL: r.URL("/order/" + order + "/refund"), Token: box.BuyerToken(user)})
}

// providerAway has a buyer press *Pay* again and again.
func providerAway(r *rig) {
	user, a := r.buyAt(0, 30*time.Second)
	pay := "/order/" + orderOf(a) + "/pay"
	r.meanwhile(time.Second, 1, func() { r.ask(0, http.MethodPost, pay, box.BuyerToken(user)) })
}

// refundRefused has the provider refuse the refund of an order and one of a part, a buyer dispute a payment, and
// another one win a dispute over money that had gone back.
func refundRefused(r *rig) {
	paid := func() (user int64, order, id string) {
		user, a := r.buyAt(0, 30*time.Second)
		order = orderOf(a)
		if paid := r.pay(user, order); paid.StatusCode != http.StatusOK {
			r.Fatalf("paying for order %q: %d %s", order, paid.StatusCode, paid.Body)
		}
		shown := box.Decode[struct{ Payments []struct{ ID string } }](r, r.Client.Must(r, http.StatusOK,
			box.Request{Method: http.MethodGet, URL: r.URL("/admin/order/" + order), Token: box.AdminToken()}))
		return user, order, shown.Payments[0].ID
	}
	user, order, _ := paid()
	r.Client.Must(r, http.StatusAccepted,
		box.Request{Method: http.MethodPost, URL: r.URL("/order/" + order + "/refund"), Token: box.BuyerToken(user)})
	_, _, disputed := paid()
	_, _, lost := paid()
	for _, n := range []payment.Notice{
		{Kind: payment.NoticeDisputed, PaymentID: disputed, Amount: 10_13},
		{Kind: payment.NoticeReturned, PaymentID: lost, Amount: 10_00},
		{Kind: payment.NoticeDisputeLost, PaymentID: lost, Amount: 10_13},
	} {
		r.Servers[0].Tells(r, box.Secret, n)
	}
	_, _, part := paid()
	box.Eventually(r, "a part being asked for", func() error { // refunds of parts are switched on first
		a, err := r.Client.Do(r.Context(), box.Request{
			Method: http.MethodPost, URL: r.URL("/admin/payment/" + part + "/refund"), Token: box.AdminToken(),
			Header: map[string]string{"Idempotency-Key": "a-part"},
			Body:   map[string]any{"amount": 13, "why": "a scratch"},
		})
		if err == nil && a.StatusCode != http.StatusAccepted {
			err = fmt.Errorf("%d %s", a.StatusCode, a.Body)
		}
		return err
	})
}

func noticesRefused(r *rig) {
	unknown := payment.Notice{Kind: payment.NoticePaid, PaymentID: "pay_of_nobody", Amount: 10_00}
	r.meanwhile(time.Second, 1, func() {
		for _, secret := range []string{box.Secret, strings.Repeat("another", 6)} {
			_ = r.Servers[0].Says(r, secret, unknown) // it is refused
		}
	})
}

func overloaded(r *rig) {
	r.toRedis[0].Delay(200 * time.Millisecond)
	r.meanwhile(200*time.Millisecond, 64, r.buy)
}

// crowded opens connections whose header never ends.
func crowded(r *rig) {
	r.meanwhile(time.Second, 40, func() {
		conn, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", r.Servers[0].Addr)
		if err != nil {
			return // the instance is full
		}
		defer func() { _ = conn.Close() }()                                         // no answer is expected
		_, _ = fmt.Fprintf(conn, "GET /voucher/%d HTTP/1.1\r\nHost: x\r\n", r.sale) // it may already be refused
		select {
		case <-r.Context().Done():
		case <-time.After(3 * time.Second):
		}
	})
}

// bots have tokens without the age of their account; more than a hundred of them ask per second.
func bots(r *rig) { r.meanwhile(100*time.Millisecond, 16, r.buy) }

// endpoint registers a receiver as an endpoint of the sale's shop.
func (r *rig) endpoint(to *receiver.Receiver) {
	r.Helper()
	r.admin(http.StatusCreated, "/admin/webhook", map[string]any{"shopId": 1, "url": to.URL()})
}

func endpointAway(r *rig) {
	to := receiver.New(r)
	r.endpoint(to)
	to.Stop()
	r.meanwhile(time.Second, 1, r.buy)
}

// endpointRefusesOne accepts all events except those of one order. Its nine attempts would take eight hours, so the
// test keeps writing into the database that the next one is due.
func endpointRefusesOne(r *rig) {
	to := receiver.New(r)
	refused := ""
	to.Answers(func(id string) int { // called by one goroutine at a time
		if refused == "" {
			refused = id
		}
		if id == refused {
			return http.StatusInternalServerError
		}
		return http.StatusNoContent
	})
	r.endpoint(to)
	r.meanwhile(time.Second, 1, r.buy)
	r.meanwhile(2*time.Second, 1, func() {
		// If this fails, it is repeated in two seconds.
		_, _ = r.Ledger.DB.ExecContext(r.Context(), "UPDATE tb_webhook_retry SET due_time = UTC_TIMESTAMP(3)")
	})
}
