// Command serve runs the stand-in for Stripe, to try seckill-stripe out without an account: docs/stripe.md. It moves no
// money, and forgets all when it ends.
//
//	go run ./standin/serve -listen 127.0.0.1:12111
package main

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"seckill/providers/stripe/standin"
)

func main() {
	at := flag.String("listen", "127.0.0.1:12111", "the `address` to listen on")
	key := flag.String("key", "sk_test_standin", "the secret `key` of the account")
	currencies := flag.String("currencies", "CNY,EUR,USD,JPY", "`codes` that the account takes; the first is its own")
	flag.Parse()
	const headers = 5 * time.Second
	s := standin.New(standin.Options{
		Key: *key, Currencies: strings.Split(*currencies, ","), Base: "http://" + *at, Retry: time.Second,
	})
	fmt.Printf("not Stripe: STRIPE_API_URL=http://%s STRIPE_API_KEY=%s\n", *at, *key)
	err := (&http.Server{Addr: *at, Handler: s, ReadHeaderTimeout: headers}).ListenAndServe()
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
