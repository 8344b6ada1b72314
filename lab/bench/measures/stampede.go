package measures

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"seckill/internal/httpload"
	"seckill/lab/bench/result"
	"seckill/lab/load"
	"seckill/lab/rig"
)

// stampedeTime is how long it takes to open the connections of a stampede.
const stampedeTime = 3 * time.Second

// stampedes measures one stampede per round.
func (b *Bench) stampedes(ctx context.Context) (all []result.Stampede, err error) {
	for range b.plan.Rounds {
		s, err := b.stampede(ctx)
		if err != nil {
			return all, err
		}
		service, plain := s.KilobytesEach()
		fmt.Fprintf(b.progress, "stampede of %d connections: %d accepted, %d failed, the last after %.2f s; %.1f KB "+
			"each, with plain Gin %.1f KB\n",
			s.Connections, s.Accepted, s.Failed, s.Answered, service, plain)
		all = append(all, s)
	}
	return all, nil
}

// stampede opens as many connections as the machine allows within seconds, with one purchase on each, and ordinary load
// before and after. It does the same to plain Gin, to compare the memory of a connection.
func (b *Bench) stampede(ctx context.Context) (s result.Stampede, err error) {
	plain := result.Stampede{}
	plain.Connections, _ = load.MaxConnections(b.plan.Stampede)
	if err := b.plainStampede(ctx, &plain); err != nil {
		return s, err
	}
	s.PlainIdle, s.PlainPeak, s.PlainFailed = plain.Idle, plain.Peak, plain.Failed
	s.Connections, s.FileLimit = load.MaxConnections(b.plan.Stampede)
	err = b.withService(ctx, func(at *rig.Namespace, server *rig.Server) (accepted int64, err error) {
		ordinary := func() (float64, error) {
			if err = server.Sell(ctx, rig.Unlimited); err != nil {
				return 0, err
			}
			answers, err := b.burst(server, b.plan.Duration/2).Send(ctx)
			accepted += answers.Want
			return answers.Rate, err
		}
		if s.Before, err = ordinary(); err != nil {
			return 0, err
		}
		if s.Idle, err = server.Memory(); err != nil {
			return 0, err
		}
		if err = server.Sell(ctx, rig.Unlimited); err != nil {
			return 0, err
		}
		b.buyAllAtOnce(ctx, server, &s)
		if s.Peak, err = server.PeakMemory(); err != nil {
			return 0, err
		}
		if s.After, err = ordinary(); err != nil {
			return 0, err
		}
		if s.Left, err = server.Memory(); err != nil {
			return 0, err
		}
		// Even buyers without an answer may have an order.
		known := accepted + s.Accepted
		if s.Failed == 0 {
			return known, nil
		}
		time.Sleep(time.Second) // nothing signals the end
		recorded, err := at.Recorded(ctx)
		if err == nil && (recorded < known || recorded > known+s.Failed) {
			err = fmt.Errorf("the counts do not add up: %d orders recorded, %d accepted, %d failed",
				recorded, known, s.Failed)
		}
		return recorded, err
	})
	return s, err
}

// plainStampede is the same stampede to plain Gin, which answers each purchase with a constant.
func (b *Bench) plainStampede(ctx context.Context, s *result.Stampede) error {
	return b.inNamespace(ctx, func(at *rig.Namespace) (err error) {
		plain, err := b.stage("gin").Start(ctx, at, 0)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, plain.Stop()) }()
		// It first grows to its usual size, like the service.
		if _, err = b.burst(plain, b.plan.Duration/2).Send(ctx); err != nil {
			return err
		}
		if s.Idle, err = plain.Memory(); err != nil {
			return err
		}
		b.buyAllAtOnce(ctx, plain, s)
		s.Peak, err = plain.PeakMemory()
		return err
	})
}

// buyAllAtOnce runs the stampede itself.
func (b *Bench) buyAllAtOnce(ctx context.Context, server *rig.Server, s *result.Stampede) {
	var mu sync.Mutex
	var wg, open sync.WaitGroup
	var micros []uint32
	all := make(chan struct{}) // closed once every buyer has an answer
	began := time.Now()
	open.Add(s.Connections)
	for i := range s.Connections {
		wg.Go(func() {
			time.Sleep(time.Until(began.Add(time.Duration(i) * stampedeTime / time.Duration(s.Connections))))
			asked := time.Now()
			conn, connected, err := connectAndBuy(ctx, i, b.users[i], server)
			answered := time.Now()
			mu.Lock()
			if err == nil {
				s.Accepted++
				micros = append(micros, uint32(answered.Sub(asked).Microseconds()))
			} else {
				s.Failed++
				if s.FirstError == "" {
					s.FirstError = err.Error()
				}
			}
			s.Opened = max(s.Opened, connected.Sub(began).Seconds())
			s.Answered = max(s.Answered, answered.Sub(began).Seconds())
			mu.Unlock()
			open.Done()
			<-all
			if conn != nil {
				conn.Close() // its answer has been read
			}
		})
	}
	open.Wait()
	close(all)
	wg.Wait()
	if len(micros) > 0 {
		s.P50, s.P99 = millis(load.Percentile(micros, 0.5)), millis(load.Percentile(micros, 0.99))
	}
}

// connectAndBuy opens one connection, buys, and leaves it open.
func connectAndBuy(
	ctx context.Context, number int, token string, server *rig.Server,
) (conn *httpload.Conn, connected time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	conn, err = load.Dial(ctx, server.Addr, number)
	connected = time.Now()
	if err == nil {
		_, err = load.Ask(ctx, conn, load.Purchase(server.Voucher, "", token), http.StatusAccepted, 0)
	}
	return conn, connected, err
}
