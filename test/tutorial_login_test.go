package test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"seckill/internal/testkit/server"
	"seckill/test/box"
)

// TestTutorialLogin checks that examples/tutorial works as documented: somebody signs in, sees the coupon and buys it,
// through the example's nginx and login.
func TestTutorialLogin(t *testing.T) {
	t.Parallel()
	s := box.EmbeddedSite(t)
	now := time.Now()
	id := tutorialVoucher(t, s, 1, now.Add(-time.Hour), now.Add(time.Hour))
	s.AwaitState(t, id, "on_sale")
	entry, code := startTutorial(t, s)
	ask := func(method, path, body, token string) (status int, answer []byte, err error) {
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+entry+"/api"+path,
			strings.NewReader(body))
		if err != nil {
			return 0, nil, err
		}
		req.Header.Set("Authorization", token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return 0, nil, err
		}
		defer func() { _ = resp.Body.Close() }() // read to its end below
		answer, err = io.ReadAll(resp.Body)
		return resp.StatusCode, answer, err
	}
	page := func(method, path, body, token string) (r tutorialResult) {
		status, answer, err := ask(method, path, body, token)
		if err != nil || json.Unmarshal(answer, &r) != nil {
			t.Fatalf("%s %s: %d %s %v", method, path, status, answer, err)
		}
		return r
	}
	const phone = "13800138000"
	box.Eventually(t, "a login that answers", func() error {
		status, answer, err := ask(http.MethodPost, "/user/code?phone="+phone, "", "")
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("%d %s", status, answer)
		}
		return err
	})
	in := page(http.MethodPost, "/user/login", `{"phone":"`+phone+`","code":"`+code()+`"}`, "")
	var token string
	if err := json.Unmarshal(in.Data, &token); err != nil || !in.Success {
		t.Fatalf("signing in: %+v", in)
	}
	if me := page(http.MethodGet, "/user/me", "", token); !me.Success {
		t.Errorf("the page thinks that nobody is signed in: %+v", me)
	}
	if list := page(http.MethodGet, "/voucher/list/1", "", token); !strings.Contains(string(list.Data),
		strconv.FormatInt(id, 10)) {
		t.Errorf("the coupon is not in the list: %s", list.Data)
	}
	path := "/voucher-order/seckill/" + strconv.FormatInt(id, 10)
	var order string
	if bought := page(http.MethodPost, path, "", token); json.Unmarshal(bought.Data, &order) != nil || order == "" {
		t.Errorf("buying: %+v", bought)
	}
	if again := page(http.MethodPost, path, "", token); again.Success || again.ErrorMsg == "" {
		t.Errorf("buying again: %+v", again)
	}
}

// TestTutorialNginxLine checks the README's command that starts nginx, with the file that it names.
func TestTutorialNginxLine(t *testing.T) {
	t.Parallel()
	program, err := server.Program(t.Context(), "nginx", "nginx")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../examples/tutorial/README.md")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^nginx (-p .*\.conf)`).FindSubmatch(readme)
	if line == nil {
		t.Fatal("the README starts no nginx")
	}
	check := exec.CommandContext(t.Context(), "sh", "-c", program+" -t -e stderr "+string(line[1]))
	check.Dir = ".."
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("nginx %s: %v\n%s", line[1], err, out)
	}
}

// startTutorial starts the example's login and nginx in front of a site. It returns nginx's address, and a function
// that reads the last code from the login's log.
func startTutorial(t *testing.T, s *box.Site) (addr string, code func() string) {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "login")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary,
		"../examples/tutorial/login").CombinedOutput(); err != nil {
		t.Fatalf("building the login: %v\n%s", err, out)
	}
	login := box.FreeAddr(t)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary, "-addr", login)
	cmd.Env, cmd.Stderr = append(os.Environ(), "SECKILL_JWT_SECRET="+box.Secret), log
	if err = cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait(); _ = log.Close() }) // the test's context has killed it
	conf, err := os.ReadFile("../examples/tutorial/nginx.conf")
	if err != nil {
		t.Fatal(err)
	}
	n, err := server.StartNginx(t.Context(), func(addr, dir string) string {
		return strings.NewReplacer("listen 8000", "listen "+addr, "127.0.0.1:8082", login, "127.0.0.1:8080",
			s.Servers[0].Addr, "/tmp/", dir+"/").Replace(string(conf))
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() }) // it only forwarded requests
	return n.Addr, func() string {
		var last string
		box.Eventually(t, "a code", func() error {
			text, err := os.ReadFile(log.Name())
			if err != nil {
				return err
			}
			found := regexp.MustCompile(`code=(\d{6})`).FindAllStringSubmatch(string(text), -1)
			if len(found) == 0 {
				return io.EOF
			}
			last = found[len(found)-1][1]
			return nil
		})
		return last
	}
}
