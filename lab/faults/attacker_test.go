package faults

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"seckill/test/box"
)

// envAttack turns a process of this test program into an attacker: "kind address connections source".
const envAttack = "SECKILL_TEST_ATTACK"

// attacks are, by kind, what each connection of an attacker does again and again, until the server closes it or the
// attack is over.
func attacks() map[string]func(*attacker, net.Conn) error {
	return map[string]func(*attacker, net.Conn) error{
		"idle":    (*attacker).idle,
		"slow":    (*attacker).slowBody,
		"bodies":  (*attacker).largeBody,
		"readers": (*attacker).read,
		"shops":   (*attacker).readAnyShop,
		"admins":  (*attacker).readAsAdmin,
		"odd":     (*attacker).odd,
	}
}

// attacker is one process that keeps many connections to one server busy. Its own limit of open files bounds their
// number, and so do the ports of its source address.
type attacker struct {
	addr        string
	source      net.IP
	connections int
	attack      func(*attacker, net.Conn) error
	header      string // with the token, for attackers who have one
}

// attackIfAsked runs the attack in envAttack, if there is one, and reports that. The attack ends with the process's
// input.
func attackIfAsked() (code int, asked bool) {
	fields := strings.Fields(os.Getenv(envAttack))
	if len(fields) == 0 {
		return 0, false
	}
	connections, err := strconv.Atoi(fields[2])
	attack, known := attacks()[fields[0]]
	source := net.ParseIP(fields[3])
	if err != nil || !known || source == nil {
		_, _ = fmt.Fprintln(os.Stderr, "no such attack:", fields)
		return 1, true
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // ends with the process that began the attack at the latest
		stop()
	}()
	a := attacker{addr: fields[1], source: source, connections: connections, attack: attack}
	if fields[0] == "admins" {
		a.header = "Authorization: Bearer " + box.AdminToken() + "\r\n"
	}
	a.run(ctx)
	return 0, true
}

// run prints "ready" once each connection has been opened.
func (a *attacker) run(ctx context.Context) {
	var all sync.WaitGroup
	var opened atomic.Int64
	for range a.connections {
		all.Go(func() {
			first := sync.OnceFunc(func() {
				if opened.Add(1) == int64(a.connections) {
					_, _ = fmt.Println("ready")
				}
			})
			for ctx.Err() == nil {
				a.connect(ctx, first)
				sleep(ctx, 100*time.Millisecond)
			}
		})
	}
	all.Wait()
}

// connect attacks over one connection until that ends.
func (a *attacker) connect(ctx context.Context, opened func()) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: a.source}, Timeout: 10 * time.Second}
	conn, err := d.DialContext(ctx, "tcp", a.addr)
	if err != nil {
		return
	}
	opened()
	end := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer end()
	defer conn.Close()
	_ = a.attack(a, conn) // however it ends
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// idle sends nothing.
func (*attacker) idle(conn net.Conn) error {
	_, err := io.Copy(io.Discard, conn)
	return err
}

// slowBody sends a purchase whose body comes byte by byte.
func (a *attacker) slowBody(conn net.Conn) error {
	_, err := fmt.Fprintf(conn, "POST /voucher/seckill/1 HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
		"Content-Length: 1000\r\n\r\n", a.addr)
	for err == nil {
		time.Sleep(time.Second)
		_, err = conn.Write([]byte("x"))
	}
	return err
}

// largeBody sends a megabyte to a route that reads a body.
func (a *attacker) largeBody(conn net.Conn) error {
	piece := []byte(strings.Repeat("x", 16<<10))
	for {
		if _, err := fmt.Fprintf(conn, "POST /payment/callback HTTP/1.1\r\nHost: %s\r\n"+
			"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n", a.addr); err != nil {
			return err
		}
		for range 64 {
			if _, err := fmt.Fprintf(conn, "%x\r\n%s\r\n", len(piece), piece); err != nil {
				return err
			}
		}
		if _, err := io.WriteString(conn, "0\r\n\r\n"); err != nil {
			return err
		}
		if err := a.skip(bufio.NewReader(conn)); err != nil {
			return err
		}
	}
}

// odd does one of four things that no client does: it sends a header byte by byte, a header of 1 MB, a body of 100 MB,
// or purchases with forged tokens.
func (a *attacker) odd(conn net.Conn) error {
	switch rand.IntN(4) {
	case 0:
		_, err := io.WriteString(conn, "GET /order HTTP/1.1\r\nHost: x\r\nX: ")
		for err == nil {
			time.Sleep(200 * time.Millisecond)
			_, err = conn.Write([]byte("x"))
		}
		return err
	case 1:
		return a.pour(conn, "GET /order HTTP/1.1\r\nHost: x\r\nX: ", 1<<20)
	case 2:
		return a.pour(conn, "POST /voucher/seckill/1 HTTP/1.1\r\nHost: x\r\nAuthorization: "+box.BuyerToken(1)+
			"\r\nContent-Length: 104857600\r\n\r\n", 100<<20)
	default:
		return a.forge(conn)
	}
}

// pour sends a beginning and then length bytes, as fast as the server reads them.
func (*attacker) pour(conn net.Conn, beginning string, length int) error {
	_, err := io.WriteString(conn, beginning)
	piece := []byte(strings.Repeat("x", 16<<10))
	for sent := 0; sent < length && err == nil; sent += len(piece) {
		_, err = conn.Write(piece)
	}
	return err
}

// forge sends purchases with well-formed tokens that are not signed with the secret. The signature is random, so that
// the attacker itself has little work.
func (a *attacker) forge(conn net.Conn) error {
	genuine, _, _ := strings.Cut(box.BuyerToken(1), ".")
	r := bufio.NewReader(conn)
	for {
		token := genuine + "." + strings.Repeat("eyJzdWIi", 30) + "." + fmt.Sprintf("%043d", rand.Int64())
		if _, err := fmt.Fprintf(conn, "POST /voucher/seckill/1 HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n"+
			"\r\n", a.addr, token); err != nil {
			return err
		}
		if err := a.skip(r); err != nil {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// read reads the list of shop 2 without pauses.
func (a *attacker) read(conn net.Conn) error {
	return a.ask(conn, func() string { return "/voucher/list/2" })
}

// readAnyShop reads another shop's list each time.
func (a *attacker) readAnyShop(conn net.Conn) error {
	return a.ask(conn, func() string { return "/voucher/list/" + strconv.FormatInt(1_000+rand.Int64N(1<<40), 10) })
}

// readAsAdmin reads as a script of an admin would.
func (a *attacker) readAsAdmin(conn net.Conn) error {
	return a.ask(conn, func() string { return "/admin/voucher" })
}

func (a *attacker) ask(conn net.Conn, path func() string) error {
	r := bufio.NewReader(conn)
	for {
		if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", path(), a.addr, a.header); err != nil {
			return err
		}
		if err := a.skip(r); err != nil {
			return err
		}
	}
}

// skip reads one answer. After a refusal the attacker pauses briefly.
func (*attacker) skip(r *bufio.Reader) error {
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusServiceUnavailable {
		time.Sleep(20 * time.Millisecond)
	}
	if _, err = io.Copy(io.Discard, res.Body); err == nil && res.Close {
		err = io.EOF
	}
	return err
}

// attack starts attacking processes, from 127.0.0.2 on, and returns once all their connections have been opened.
func (r *run) attack(kind string, processes, connections int) (end func()) {
	r.Helper()
	program, err := os.Executable()
	r.must(err)
	var ends []func()
	ready := make(chan error, processes)
	for i := range processes {
		cmd := exec.CommandContext(r.Context(), program)
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %d 127.0.0.%d",
			envAttack, kind, r.site.Servers[0].Addr, connections/processes, 2+i))
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		r.must(err)
		in, err := cmd.StdinPipe()
		r.must(err)
		r.must(cmd.Start())
		go func() {
			_, err := bufio.NewReader(out).ReadString('\n')
			ready <- err
		}()
		ends = append(ends, sync.OnceFunc(func() {
			_ = in.Close() // ends the attack
			_ = cmd.Wait() // its exit code does not matter
		}))
	}
	end = func() {
		for _, stop := range ends {
			stop()
		}
	}
	r.Cleanup(end)
	for range processes {
		select {
		case err := <-ready:
			r.must(err)
		case <-time.After(box.Patience):
			r.Fatalf("%s: not all of %d connections were opened within %v", kind, connections, box.Patience)
		}
	}
	return end
}
