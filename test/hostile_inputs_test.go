package test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"seckill/internal/order/payment"
	"seckill/internal/sandbox"
	"seckill/test/box"
)

// raw returns a request as text, with a body if it is not empty.
func raw(method, path, token, body string, header ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n", method, path)
	if token != "" {
		fmt.Fprintf(&b, "Authorization: Bearer %s\r\n", token)
	}
	for _, line := range header {
		b.WriteString(line + "\r\n")
	}
	if body != "" {
		fmt.Fprintf(&b, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	return b.String() + "\r\n" + body
}

// signToken returns a signed token with any header and claims.
func signToken(key, header, claims string) string {
	text := base64.RawURLEncoding.EncodeToString([]byte(header)) + "." +
		base64.RawURLEncoding.EncodeToString([]byte(claims))
	return signSegments(key, text)
}

func signSegments(key, text string) string {
	mac := hmac.New(sha256.New, []byte(key))
	_, _ = io.WriteString(mac, text) // never fails, by its documentation
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// protected are the routes that ask for a token, each with a request that an admin or the victim could make.
func (at *target) protected() []struct{ method, path, body string } {
	sale, ordinary := strconv.FormatInt(at.sale, 10), strconv.FormatInt(at.ordinary, 10)
	return []struct{ method, path, body string }{
		{"POST", "/voucher", `{"shopId":1,"title":"x","payValue":1,"actualValue":2}`},
		{"POST", "/voucher/seckill", `{"shopId":1,"title":"x","payValue":1,"actualValue":2,"stock":5,` +
			`"beginTime":"2030-01-01T00:00:00Z","endTime":"2031-01-01T00:00:00Z"}`},
		{"PATCH", "/voucher/" + sale, `{"title":"taken over"}`},
		{"POST", "/voucher/" + sale + "/stock", `{"delta":5}`},
		{"POST", "/voucher/" + sale + "/pause", ""},
		{"POST", "/voucher/" + sale + "/resume", ""},
		{"POST", "/voucher/" + sale + "/archive", ""},
		{"POST", "/voucher/" + sale + "/restore", ""},
		{"GET", "/admin/order", ""},
		{"GET", "/admin/order/" + at.order, ""},
		{"GET", "/admin/search?q=" + at.order, ""},
		{"GET", "/admin/payment", ""},
		{"GET", "/admin/payment/pay_1", ""},
		{"POST", "/admin/payment/pay_1/retry", `{"why":"mine"}`},
		{"POST", "/admin/payment/pay_1/close", `{"why":"mine"}`},
		{"GET", "/admin/payments.csv", ""},
		{"GET", "/admin/voucher", ""},
		{"GET", "/admin/voucher/" + sale + "/live", ""},
		{"GET", "/admin/audit", ""},
		{"GET", "/admin/deadletter", ""},
		{"POST", "/admin/deadletter/1-1/discard", `{"why":"x"}`},
		{"POST", "/voucher/seckill/" + sale, ""},
		{"POST", "/voucher-order/seckill/" + sale, ""},
		{"POST", "/voucher/buy/" + ordinary, ""},
		{"GET", "/order", ""},
		{"GET", "/order/" + at.order, ""},
		{"GET", "/order/" + at.order + "/events", ""},
		{"POST", "/order/" + at.order + "/pay", ""},
		{"POST", "/order/" + at.order + "/cancel", ""},
		{"POST", "/order/" + at.order + "/refund", ""},
	}
}

// adminRoutes is how many of protected, from the first one, are for admins only.
const adminRoutes = 13

// tokens returns forged tokens on every route, genuine buyers' tokens with odd claims on the admins' routes, and
// another buyer's tokens on the victim's order.
func (at *target) tokens() (all []hostile) {
	for name, token := range hostileTokens() {
		for _, r := range at.protected() {
			all = append(all, hostile{"token " + name + ": " + r.method + " " +
				r.path, raw(r.method, r.path, token, r.body, "Idempotency-Key: k"), outside})
		}
	}
	for name, claims := range buyersClaims() {
		for _, r := range at.protected()[:adminRoutes] {
			token := signToken(box.Secret, `{"alg":"HS256"}`, claims)
			all = append(all, hostile{"buyer " + name + ": " + r.method + " " +
				r.path, raw(r.method, r.path, token, r.body, "Idempotency-Key: k"), below})
		}
	}
	for _, r := range at.protected() {
		if strings.HasPrefix(r.path, "/order/") {
			all = append(all, hostile{
				"another buyer: " + r.method + " " + r.path, raw(r.method, r.path, box.BuyerToken(1), r.body), refused,
			})
		}
	}
	return all
}

// hostileTokens are tokens that must not be accepted.
func hostileTokens() map[string]string {
	const header = `{"alg":"HS256","typ":"JWT"}`
	exp := time.Now().Add(time.Hour).Unix()
	good := fmt.Sprintf(`{"sub":"1","role":"admin","exp":%d}`, exp)
	genuine := signToken(box.Secret, header, good)
	parts := strings.Split(genuine, ".")
	with := func(claims string, args ...any) string {
		return signToken(box.Secret, header, fmt.Sprintf(claims, args...))
	}
	under := func(header string) string { return signToken(box.Secret, header, good) }
	return map[string]string{
		"not one": "let-me-in", "dots": "..", "only header": parts[0], "no signature": parts[0] + "." + parts[1] + ".",
		"four parts": genuine + ".x", "padded": genuine + "=", "cut": genuine[:len(genuine)-1], "longer": genuine + "A",
		"twice": genuine + genuine, "swapped": parts[1] + "." + parts[0] + "." + parts[2],
		"long": strings.Repeat("a", 5000), "another key": signToken(box.Secret+"!", header, good),
		"no key":             signToken("", header, good),
		"signature of zeros": parts[0] + "." + parts[1] + "." + strings.Repeat("A", 43),
		"with +":             strings.Replace(genuine, ".", "+.", 1),
		"alg none":           under(`{"alg":"none"}`), "alg None": under(`{"alg":"None"}`),
		"alg HS512": under(`{"alg":"HS512"}`), "alg RS256": under(`{"alg":"RS256"}`),
		"alg null": under(`{"alg":null}`), "alg list": under(`{"alg":["HS256"]}`), "Alg": under(`{"Alg":"HS256"}`),
		"alg twice": under(`{"alg":"none","alg":"HS256"}`),
		"crit":      under(`{"alg":"HS256","crit":["exp"]}`), "crit empty": under(`{"alg":"HS256","crit":[]}`),
		"no header": under(""), "header list": under(`[]`), "header null": under(`null`),
		"no claims": signToken(box.Secret, header, ""), "claims null": with(`null`), "claims list": with(`[1]`),
		"claims text": with(`"x"`), "two objects": signToken(box.Secret, header, good+"{}"),
		"broken JSON": with(`{"sub":"1"`),
		"no exp":      with(`{"sub":"1","role":"admin"}`), "expired": with(`{"sub":"1","exp":%d}`,
			time.Now().Add(-time.Minute).Unix()), "exp 0": with(`{"sub":"1","exp":0}`),
		"exp negative": with(`{"sub":"1","exp":-1}`), "exp text": with(`{"sub":"1","exp":"%d"}`, exp),
		"exp huge": with(`{"sub":"1","exp":1e300}`), "exp beyond": with(`{"sub":"1","exp":1e999}`),
		"exp overflow": with(`{"sub":"1","exp":9223372036854775808}`), "exp true": with(`{"sub":"1","exp":true}`),
		"exp list":  with(`{"sub":"1","exp":[%d]}`, exp),
		"exp twice": with(`{"sub":"1","exp":%d,"exp":%d}`, exp, exp), "EXP": with(`{"sub":"1","EXP":%d}`, exp),
		"nbf later":    with(`{"sub":"1","exp":%d,"nbf":%d}`, exp, exp),
		"nbf overflow": with(`{"sub":"1","exp":%d,"nbf":99999999999999999999}`, exp), "nbf text": with(
			`{"sub":"1","exp":%d,"nbf":"0"}`, exp), "iat overflow": with(`{"sub":"1","exp":%d,"iat":1e30}`, exp),
		"no sub": with(`{"exp":%d}`, exp), "sub number": with(`{"sub":1,"exp":%d}`, exp),
		"sub 0": with(`{"sub":"0","exp":%d}`, exp), "sub -1": with(`{"sub":"-1","exp":%d}`, exp),
		"sub 01": with(`{"sub":"01","exp":%d}`, exp), "sub blank": with(`{"sub":" 1","exp":%d}`, exp),
		"sub 2^53": with(`{"sub":"9007199254740992","exp":%d}`, exp),
		"sub 2^64": with(`{"sub":"18446744073709551617","exp":%d}`, exp), "sub SQL": with(`{"sub":"1 OR 1=1","exp":%d}`,
			exp), "sub Arabic": with(`{"sub":"١","exp":%d}`, exp),
		"sub list": with(`{"sub":["1"],"exp":%d}`, exp), "sub twice": with(`{"sub":"1","sub":"2","exp":%d}`, exp),
		"SUB": with(`{"SUB":"1","exp":%d}`, exp), "sub NUL": with(`{"sub":"1\u0000","exp":%d}`, exp),
		"role number": with(`{"sub":"1","exp":%d,"role":1}`, exp), "role list": with(`{"sub":"1","exp":%d,`+
			`"role":["admin"]}`, exp), "role twice": with(`{"sub":"1","exp":%d,"role":"admin","role":"admin"}`, exp),
		"role twice, escaped": with(`{"sub":"1","exp":%d,"role":"buyer","rol\u0065":"admin"}`, exp),
		"unknown twice":       with(`{"sub":"1","exp":%d,"x":1,"x":2}`, exp),
		"not UTF-8": with("{\"sub\":\"1\",\"exp\":%d,\"x\":\"\xff\"}",
			exp), "iss number": with(`{"sub":"1","exp":%d,"iss":1}`, exp),
		"aud number": with(`{"sub":"1","exp":%d,"aud":1}`, exp),
		"standard base64": signSegments(box.Secret, base64.StdEncoding.EncodeToString([]byte(header))+
			"."+base64.StdEncoding.EncodeToString([]byte(good[:len(good)-1]+`,"x":"???>>>"}`))),
	}
}

// buyersClaims are claims of buyers who pose as admins.
func buyersClaims() map[string]string {
	exp := time.Now().Add(time.Hour).Unix()
	claims := map[string]string{}
	for i, role := range []string{
		`"x":1`, `"ROLE":"admin"`, `"Role":"admin"`, `"rolE":"admin"`, `"role":"Admin"`, `"role":"ADMIN"`,
		`"role":" admin"`, `"role":"admin "`, `"role":"admin\u0000"`, `"role":"root"`,
		`"role":null`, `"role":""`, `"roles":["admin"]`, `"admin":true`, `"role ":"admin"`, `"\u0000role":"admin"`,
		`"role":"ａｄｍｉｎ"`, `"role":"аdmin"`, `"x":{"role":"admin"}`, `"role":"buyer","ROLE":"admin"`,
	} {
		claims[strconv.Itoa(i)+" "+role] = fmt.Sprintf(`{"sub":"1","exp":%d,%s}`, exp, role)
	}
	return claims
}

// bodies returns an admin's bodies that no route may accept: each has one wrong field or is not a suitable object at
// all.
func (at *target) bodies() (all []hostile) {
	add := func(what, method, path, body string) {
		all = append(all, hostile{"body " + method + " " + path + ": " +
			what, raw(method, path, box.AdminToken(), body, "Idempotency-Key: k"), refused})
	}
	number := []string{
		`"1"`, `1.5`, `1e2`, `-1`, `-0.1`, `1e999`, `9223372036854775808`, `99999999999999999999`, `true`, `null`, `[]`,
		`{}`, `""`, `"x"`, `0x1`, `01`, `+1`, `NaN`, `Infinity`, `1 1`, `.5`, `--1`,
	}
	text := []string{
		`1`, `null`, `true`, `[]`, `{}`, `["x"]`, `"\u0000"`, `"a\u0000b"`, "\"\xff\"", "\"\n\"", `"`, `'x'`, `"\x"`,
		`"\ud800`, `"` + strings.Repeat("x", 1100) + `"`, `"` + strings.Repeat("优", 1100) + `"`,
	}
	instant := []string{
		`1`, `null`, `""`, `"now"`, `"2030"`, `"2030-13-01T00:00:00Z"`, `"2030-02-30T00:00:00Z"`,
		`"2030-01-01T25:00:00Z"`, `"0000-01-01T00:00:00Z"`, `"10000-01-01T00:00:00Z"`, `[]`, `{}`, `true`,
		`"2030-01-01"`, `"2030-01-01T00:00:00+25:00"`,
	}
	wrong := map[string][]string{
		"shopId": append([]string{`0`, `9007199254740992`}, number...), "title": append([]string{`""`, `"   "`},
			text...), "subTitle": text, "rules": text,
		"payValue": append([]string{`100000000001`}, number...), "actualValue": append([]string{`0`, `100000000001`},
			number...), "payWithinSeconds": append([]string{`-5`, `1000000000`}, number...),
		"stock": append([]string{`0`, `100000001`}, number...), "beginTime": instant,
		"endTime": append([]string{`"2020-01-01T00:00:00Z"`}, instant...),
		"colour":  {`"red"`}, "__proto__": {`{}`}, "id": {`1`}, "type": {`7`, `"1"`}, "Title": {`"x"`},
	}
	fields := map[string]string{"shopId": `1`, "title": `"x"`, "payValue": `1`, "actualValue": `2`}
	saleFields := map[string]string{
		"shopId": `1`, "title": `"x"`, "payValue": `1`, "actualValue": `2`, "stock": `5`,
		"beginTime": `"2030-01-01T00:00:00Z"`, "endTime": `"2031-01-01T00:00:00Z"`,
	}
	for name, values := range wrong {
		for i, value := range values {
			what := fmt.Sprintf("%s %d is %.40s", name, i, value)
			add(what, "POST", "/voucher/seckill", object(saleFields, name, value))
			add(what, "POST", "/voucher", object(fields, name, value))
		}
		add(name+" is twice there", "POST", "/voucher/seckill",
			strings.TrimSuffix(object(saleFields, name, "1"), "}")+`,"`+name+`":1}`)
	}
	sale := "/voucher/" + strconv.FormatInt(at.sale, 10)
	for _, value := range append([]string{`0`, `100000001`, `-100000001`, `99999999`, `{"a":1}`}, number...) {
		if value != "-1" { // -1 is valid: it takes a unit
			add("delta "+value, "POST", sale+"/stock", `{"delta":`+value+`}`)
		}
	}
	for name, values := range map[string][]string{
		"title": append([]string{`""`}, text...), "subTitle": text, "rules": text,
		"beginTime": instant, "endTime": append([]string{`"2020-01-01T00:00:00Z"`}, instant...),
		"status": append([]string{`0`, `3`}, number...), "stock": {`5`}, "payValue": {`1`}, "id": {`1`},
		"shopId": {`2`}, "type": {`0`}, "colour": {`1`}, "issued": {`1`}, "version": {`1`}, "paused": {`true`},
	} {
		for i, value := range values {
			add(fmt.Sprintf("%s %d is %.40s", name, i, value), "PATCH", sale, `{"`+name+`":`+value+`}`)
		}
	}
	for i, body := range []string{
		`[]`, `null`, `1`, `"x"`, `{`, `}`, `{}{}`, `{"title":"a"}x`, `{"title":"a",}`, `{,}`, `{"title"}`,
		`{title:"a"}`, "\xef\xbb\xbf{}", "\x00", "<x/>", "title=a", strings.Repeat("[", 10_000),
		strings.Repeat(`{"a":`, 10_000),
		`{"title":"a","title":"b"}`, `{"title":"a","TITLE":"b"}`, `{"` + strings.Repeat("x", 60_000) + `":1}`,
		`{"title":"` + strings.Repeat("x", 70_000) + `"}`, `{"\u0074itle":1}`, `{"":1}`,
	} {
		for _, r := range []struct{ method, path string }{
			{"POST", "/voucher"}, {"POST", "/voucher/seckill"}, {"PATCH", sale}, {"POST", sale + "/stock"},
		} {
			add(fmt.Sprintf("form %d", i), r.method, r.path, body)
		}
	}
	return all
}

// object returns an object with the fields, one of them with another value.
func object(fields map[string]string, name, value string) string {
	var b bytes.Buffer
	for field, usual := range fields {
		if field != name {
			fmt.Fprintf(&b, `"%s":%s,`, field, usual)
		}
	}
	fmt.Fprintf(&b, `"%s":%s`, name, value)
	return "{" + b.String() + "}"
}

// paths returns invalid ids on every route that has one, and paths without a route.
func (at *target) paths() (all []hostile) {
	ids := []string{
		"0", "-1", "+1", "01", "1.0", "1e3", "0x1", "9007199254740992000", "99999999999999999999",
		"18446744073709551617", "NaN", "null", "undefined", "%20", "%00", "1%00", "1%20", "%2e", "..%2f1", "1%2f2",
		"1;x=1", "1,2", "*", "%2a", "'", "1'--", "1%27%20OR%201=1", "%F0%9F%98%80", "%ff", "%c0%ae", "١", "１",
		"$%7B1%7D", "{{7*7}}", "<script>", "1%0d%0aX:1", strings.Repeat("9", 300), "%25%32%65", "~", "1~", "id", ":id",
	}
	for _, r := range []struct{ method, before, after, token, body string }{
		{"GET", "/voucher/", "", "", ""},
		{"GET", "/voucher/list/", "", "", ""},
		{"GET", "/shop/", "", "", ""},
		{"GET", "/voucher/", "/draw", "", ""},
		{"PUT", "/admin/voucher/", "/draw", box.AdminToken(), `{"closeTime":"2036-01-01T00:00:00Z"}`},
		{"PUT", "/admin/voucher/", "/draw/beacon", box.AdminToken(), `{"beacon":"x"}`},
		{"GET", "/admin/shop/", "", box.AdminToken(), ""},
		{"PATCH", "/admin/shop/", "", box.AdminToken(), `{"name":"x"}`},
		{"POST", "/voucher/seckill/", "", box.BuyerToken(1), ""},
		{"POST", "/voucher-order/seckill/", "", box.BuyerToken(1), ""},
		{"POST", "/voucher/buy/", "", box.BuyerToken(1), ""},
		{"PATCH", "/voucher/", "", box.AdminToken(), `{"title":"x"}`},
		{"POST", "/voucher/", "/stock", box.AdminToken(), `{"delta":1}`},
		{"POST", "/voucher/", "/pause", box.AdminToken(), ""},
		{"POST", "/voucher/", "/resume", box.AdminToken(), ""},
		{"POST", "/voucher/", "/archive", box.AdminToken(), ""},
		{"GET", "/order/", "", box.BuyerToken(1), ""},
		{"GET", "/order/", "/events", box.BuyerToken(1), ""},
		{"POST", "/order/", "/pay", box.BuyerToken(1), ""},
		{"POST", "/order/", "/cancel", box.BuyerToken(1), ""},
		{"POST", "/order/", "/refund", box.BuyerToken(1), ""},
		{"GET", "/admin/order/", "", box.AdminToken(), ""},
		{"GET", "/admin/voucher/", "/live", box.AdminToken(), ""},
		{"POST", "/admin/deadletter/", "/discard", box.AdminToken(), `{"why":"x"}`},
	} {
		for _, id := range ids {
			want := refused
			if r.before == "/voucher-order/seckill/" {
				want = either // the old route refuses with 200
			}
			path := r.before + id + r.after
			all = append(all, hostile{
				"path " + r.method + " " + path, raw(r.method, path, r.token, r.body, "Idempotency-Key: k"), want,
			})
		}
	}
	for _, path := range []string{
		"//", "/.", "/..", "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/assets/../../go.mod",
		"/assets/%2e%2e/%2e%2e/go.mod", "/assets//admin", "/assets/", "/.git/config", "/debug/pprof/",
		"/metrics", "/actuator", "/server-status", "//order", "/order/", "/voucher/1/", "/ORDER", "/Order",
		"/voucher/list", "/voucher/list/1/2", "/sandbox/pay/", "/sandbox/pay/x", "/sandbox/pay/../../order",
		"/sandbox/pay/%2e%2e%2forder", "/sandbox//pay/x", "/sandbox/pay/" + strings.Repeat("x", 3000),
		"/voucher%2fseckill%2f1", "/voucher\\seckill\\1", "/voucher/seckill/1/..;/", "/order;jsessionid=1", "/order%00",
		"/" + strings.Repeat("a/", 2000), "/%", "/%zz", "/%u0041", "/a%0d%0aSet-Cookie:x=1",
		"/graphql", "/wp-login.php", "/admin/", "/admin/x", "/admin/order/1/2",
	} {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"} {
			want := odd
			if strings.HasPrefix(path, "/sandbox/pay/") {
				continue // handled below
			}
			all = append(all, hostile{"odd path " + method + " " + path, raw(method, path, "", ""), want})
		}
	}
	return all
}

// queries returns odd values of every query parameter, and unknown parameters.
func (at *target) queries() (all []hostile) {
	values := []string{
		"", "0", "-1", "+1", "01", "1e9", "1.5", "99999999999999999999", "x", "%00", "%zz", "%",
		"null", "true", "[]", "1&1", "'", "%27OR%201=1", "NaN", "1s", "-1s", "1h1h", "1e400s", strings.Repeat("9", 400),
		"%F0%9F%98%80", "%ff", ";x", "a=b",
	}
	for path, names := range map[string][]string{
		"/order":       {"limit", "before", "status", "voucherId", "userId", "x"},
		"/admin/order": {"limit", "before", "status", "voucherId", "userId", "x"},
		"/admin/payment": {
			"limit", "before", "payment", "orderId", "voucherId", "shopId", "state", "dispute", "from", "to", "x",
		},
		"/admin/voucher": {"limit", "before", "shopId", "x"}, "/admin/audit": {
			"limit", "before", "voucherId", "adminId", "x",
		}, "/admin/shop": {"limit", "before", "x"}, "/admin/deadletter": {"limit", "after", "x"},
		"/admin/search": {"q", "x"},
		"/voucher/" + strconv.FormatInt(at.sale, 10) + "/draw": {"limit", "after", "x"},
		"/order/" + at.order: {"wait", "access_token"}, "/voucher/" +
			strconv.FormatInt(at.sale, 10): {"x", "access_token"}, "/voucher/list/1": {"limit", "before", "x"},
	} {
		token := box.AdminToken()
		for _, name := range names {
			for i, value := range values {
				all = append(all,
					hostile{fmt.Sprintf("query %s %s %d", path, name, i), raw("GET", path+"?"+name+"="+
						value, token, ""), either})
			}
			all = append(all, hostile{
				"query twice " + path + " " + name, raw("GET", path+"?"+name+"=1&"+name+"=1", token, ""), either,
			})
		}
	}
	return all
}

// headers returns odd values of the headers that routes read.
func (at *target) headers() (all []hostile) {
	stock := "/voucher/" + strconv.FormatInt(at.sale, 10) + "/stock"
	for i, key := range []string{
		"", " ", "\t", "a b", "\x01", "\x7f", "é", "支付", "\xff", strings.Repeat("k", 300),
		strings.Repeat("k", 5000), "a\x00b",
	} {
		all = append(all, hostile{fmt.Sprintf("key %d", i), raw("POST", stock, box.AdminToken(), `{"delta":1}`,
			"Idempotency-Key: "+key), refused})
	}
	all = append(all, hostile{"key twice", raw("POST", stock, box.AdminToken(), `{"delta":1}`, "Idempotency-Key: a",
		"Idempotency-Key: a"), refused})
	for _, name := range []string{
		"X-Request-Id", "Accept-Language", "Accept-Encoding", "If-None-Match", "Last-Event-ID", "X-Forwarded-For",
		"X-Real-IP", "X-HTTP-Method-Override", "X-Original-URL", "X-Rewrite-URL", "Origin", "Referer", "Cookie",
		"Range", "Expect", "Content-Encoding", "Upgrade", "Via", "TE",
	} {
		for i, value := range []string{
			"", "x", "%00", "é", "\xff", strings.Repeat("a", 9000), "127.0.0.1", "' OR 1=1 --", "${jndi:ldap://x}",
			"() { :;}; x", "*/*;q=2", strings.Repeat("zh-CN,", 1000), "/admin/order", "DELETE", "websocket",
		} {
			all = append(all,
				hostile{fmt.Sprintf("header %s %d", name, i), raw("GET", "/order", box.BuyerToken(1), "",
					name+": "+value), either})
		}
	}
	return all
}

// callbacks returns notices of the payment provider that are unsigned, wrongly signed, or signed but invalid.
func (at *target) callbacks() (all []hostile) {
	const path = "/payment/callback"
	body, signature, _ := at.notices.Write(payment.Notice{PaymentID: at.payment, Amount: 1})
	add := func(what, body string, header ...string) {
		all = append(all, hostile{"callback " + what, raw("POST", path, "", body, header...), refused})
	}
	right := fmt.Sprintf(`{"paymentId":%q,"amount":1000,"status":"succeeded"}`, at.payment)
	_, mac, _ := strings.Cut(signature, ",")
	for i, value := range []string{
		"", "x", "t=", "t=,v1=", "t=1,v1=00", "t=0,v1=", "v1=00", "t=" + strconv.FormatInt(time.Now().Unix(), 10),
		"t=" + strconv.FormatInt(time.Now().Unix(), 10) + ",v1=", "t=" + strconv.FormatInt(time.Now().Unix(), 10) +
			",v1=zz", "t=" + strconv.FormatInt(time.Now().Unix(), 10) + ",v1=" + strings.Repeat("0", 64),
		"t=-1," + mac, "t=99999999999999999999," + mac, "t=1e9," + mac,
		"t=" + strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10) + "," + mac,
		"t=" + strconv.FormatInt(time.Now().Add(-time.Hour).Unix(), 10) + "," + mac, signature, signature + "0",
		signature[:len(signature)-1], strings.ToUpper(signature), strings.Repeat("x", 9000), "v1=1,t=1",
		signature + "," + signature,
	} {
		add(fmt.Sprintf("signature %d", i), right, sandbox.SignatureHeader+": "+value)
	}
	add("without a signature", right)
	add("its signature for another body", string(body)+" ", sandbox.SignatureHeader+": "+signature)
	for i, n := range []payment.Notice{
		{PaymentID: at.payment, Amount: 999},
		{PaymentID: at.payment, Amount: 0},
		{PaymentID: at.payment, Amount: -1000},
		{PaymentID: at.payment, Amount: 1 << 62},
		{PaymentID: at.payment + " ", Amount: 1000},
		{PaymentID: " " + at.payment, Amount: 1000},
		{PaymentID: strings.ToUpper(at.payment), Amount: 1000},
		{PaymentID: at.payment + "\x00", Amount: 1000},
		{PaymentID: "支付", Amount: 1000},
		{PaymentID: at.payment + "é", Amount: 1000},
		{PaymentID: "pay_x", Amount: 1000},
		{PaymentID: "", Amount: 1000},
		{PaymentID: "\xff", Amount: 1000},
		{PaymentID: strings.Repeat("p", 65), Amount: 1000},
		{PaymentID: strings.Repeat("p", 3000), Amount: 1000},
		{PaymentID: "' OR '1'='1", Amount: 1000},
		{PaymentID: "%", Amount: 1000},
		{PaymentID: "pay_%", Amount: 1000},
		{PaymentID: "\n", Amount: 1000},
		{PaymentID: strings.Repeat("p", 5000), Amount: 1000},
		{PaymentID: at.payment + "\t", Amount: 1000},
		{PaymentID: "😀", Amount: 1000},
		{PaymentID: at.payment + "\u3000", Amount: 1000},
		{PaymentID: at.payment + "\u200b", Amount: 1000},
	} {
		body, signature, err := at.notices.Write(n)
		if err == nil {
			add(fmt.Sprintf("signed %d", i), string(body), sandbox.SignatureHeader+": "+signature)
		}
	}
	return all
}

// wire returns malformed HTTP, and requests that try to smuggle a second one.
func (at *target) wire() (all []hostile) {
	sale := strconv.FormatInt(at.sale, 10)
	inner := "POST /voucher/seckill/" + sale + " HTTP/1.1\r\nHost: shop\r\nAuthorization: forged\r\n\r\n"
	lines := []string{
		"", "\r\n", "\x00", "hello", "GET", "GET /", "GET / HTTP/1.1", "GET  / HTTP/1.1", "GET / HTTP/0.9",
		"GET / HTTP/1.2", "GET / HTTP/2.0", "GET / HTTP/9.9", "GET / http/1.1", "GET /\x00 HTTP/1.1",
		"GET / HTTP/1.1 x", " GET / HTTP/1.1", "G\xc3\x89T / HTTP/1.1",
		"get /order HTTP/1.1", "TRACE /order HTTP/1.1", "CONNECT shop:80 HTTP/1.1", "PURGE /order HTTP/1.1",
		"PROPFIND / HTTP/1.1", "PRI * HTTP/2.0", "OPTIONS * HTTP/1.1", "GET * HTTP/1.1",
		"GET http://other/order HTTP/1.1", "GET //other/order HTTP/1.1", "GET ?x HTTP/1.1", "GET # HTTP/1.1",
		"POST /voucher/seckill/" + sale + "#x HTTP/1.1", "POST /voucher/seckill/" + sale + "\t HTTP/1.1",
		strings.Repeat("A", 30_000), "GET /" + strings.Repeat("a", 30_000) + " HTTP/1.1",
		"GET /order?" + strings.Repeat("a", 30_000) + " HTTP/1.1",
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "EHLO shop", "*1\r\n$4\r\nPING", "SSH-2.0-x",
	}
	for i, line := range lines {
		for j, rest := range []string{
			"\r\nHost: shop\r\nConnection: close\r\n\r\n", "\r\n\r\n", "\nHost: shop\n\n",
			"\r\nHost: shop\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello",
		} {
			all = append(all, hostile{fmt.Sprintf("line %d %d", i, j), line + rest, odd})
		}
	}
	heads := []string{
		"Content-Length: -1", "Content-Length: x", "Content-Length: 1e3", "Content-Length: 99999999999999999999",
		"Content-Length: +5", "Content-Length: 5\r\nContent-Length: 6", "Content-Length: 5, 6",
		"Content-Length: 5\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 0",
		"Transfer-Encoding: xchunked", "Transfer-Encoding: chunked, identity", "Transfer-Encoding: identity, chunked",
		"Transfer-Encoding: gzip, chunked", "Transfer-Encoding : chunked", "Transfer-Encoding:\tchunked",
		"Transfer-Encoding: chunked\r\nTransfer-Encoding: x",
		"TrAnSfEr-EnCoDiNg: ChUnKeD", "X: a\r\n b", "X: a\r\n\tb", ": x", "X", "X Y: z", "X\x00: y", "X: \x00",
		"X: a\rb", "X: a\nContent-Length: 5", "\x80: x", "Host: other", "Host:", "Authorization: " +
			box.BuyerToken(1) + "\r\nAuthorization: " + box.AdminToken(),
		"Authorization: Basic YWRtaW46YWRtaW4=", "Authorization: Bearer", "Authorization: Bearer Bearer,x",
		"Authorization: Bearer x, Bearer y", "Expect: 100-continue\r\nContent-Length: 5", "Expect: x",
		"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: x",
		"Trailer: Authorization\r\nTransfer-Encoding: chunked", "X: " + strings.Repeat("a", 30_000),
		strings.Repeat("X: a\r\n", 5000) + "Y: b",
	}
	bodies := []string{"", "0\r\n\r\n", "5\r\nhello\r\n0\r\n\r\n", "0\r\n\r\n" +
		inner, inner, "zz\r\n", "-1\r\n\r\n", "ffffffffffffffff\r\nx", "5;" + strings.Repeat("x", 20_000) +
		"\r\nhello\r\n0\r\n\r\n", "0\r\nAuthorization: x\r\n\r\n", "5\r\nhel"}
	for i, head := range heads {
		for j, body := range bodies {
			request := "POST /voucher/seckill/" + sale + " HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n" +
				head + "\r\n\r\n" + body
			if strings.Contains(head, box.BuyerToken(1)) {
				request = strings.Replace(request, "POST /voucher/seckill/"+sale, "GET /order", 1)
			}
			all = append(all, hostile{fmt.Sprintf("head %d %d", i, j), request, odd})
		}
	}
	return all
}
