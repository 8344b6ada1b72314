package httpapi

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/shop"
	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/order/payment"
	"seckill/internal/order/recovery"
)

// privateErrors stay inside the domain, or between it and its stores; one that got out would be INTERNAL. All other
// exported errors of the domain have a rule.
var privateErrors = map[string]error{
	"order.ErrConflict": order.ErrConflict, "order.ErrRejected": order.ErrRejected,
	"order.ErrContended": order.ErrContended, "order.ErrSuperseded": order.ErrSuperseded,
	"order.ErrOutdated": order.ErrOutdated, "order.ErrBusy": order.ErrBusy, "order.ErrStopping": order.ErrStopping,
	"gate.ErrBarred": gate.ErrBarred, "order.UnreadableHolderError": &order.UnreadableHolderError{},
	"order.NotNowError":    &order.NotNowError{Why: errors.New("a feature's")},
	"gate.ErrApart":        gate.ErrApart,
	"payment.RefusedError": &payment.RefusedError{},
	"payment.ErrIgnored":   payment.ErrIgnored,
	"recovery.ErrWaiting":  recovery.ErrWaiting,
}

func TestEveryDomainErrorHasAnAnswer(t *testing.T) {
	t.Parallel()
	table := renderErrors(rules(shop.Rules()))
	var source []byte
	for _, pattern := range []string{"errors_*.go", "shop/errors*.go", "../feature/*/rules.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			source = append(source, text...)
		}
	}
	for _, dir := range []string{
		"voucher", "order", "order/admission", "order/audit", "order/catalog", "order/gate",
		"order/operation", "order/outbox", "order/payment", "order/reason",
		"order/recorder", "order/recovery", "order/service", "voucher/listing",
	} {
		for _, name := range exportedErrors(t, dir) {
			_, isPrivate := privateErrors[name]
			if hasRule := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`).Match(source); hasRule == isPrivate {
				t.Errorf("%s: has a rule: %t, is in privateErrors: %t; it must be in one of them",
					name, hasRule, isPrivate)
			}
		}
	}
	for name, private := range privateErrors {
		if table.match(private) != &table.internal {
			t.Errorf("%s is private, and answered %s", name, table.match(private).code)
		}
	}
	for _, err := range []error{
		errNoToken, errBadToken, errNotTill, errNotBuyer, errNotMerchant, httpkit.ErrNoShop, httpkit.ErrForbidden,
		httpkit.ErrTooLarge, httpkit.ErrNoRoute,
		errMethod,
		shop.ErrUnkeyedOutcome, httpkit.ErrManyStreams, httpkit.ErrUserStreams, httpkit.ErrOverloaded, errRateLimited,
		errManyDemoBuyers, errUsedLink, errNotLocal, &shop.OrderFailedError{},
	} {
		if table.match(err) == &table.internal {
			t.Errorf("%v is not in the table", err)
		}
	}
}

// exportedErrors reads the names of a package's exported sentinel errors and error types from its source.
func exportedErrors(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	//nolint:staticcheck // build tags do not matter here
	parsed, err := parser.ParseDir(gotoken.NewFileSet(), "../"+dir, func(f fs.FileInfo) bool {
		return !strings.HasSuffix(f.Name(), "_test.go")
	}, 0)
	if err != nil || len(parsed) == 0 {
		t.Fatalf("%s has no package: %v", dir, err)
	}
	for _, p := range parsed {
		for _, f := range p.Files {
			for name, object := range f.Scope.Objects {
				sentinel := object.Kind == ast.Var && strings.HasPrefix(name, "Err")
				kind := object.Kind == ast.Typ && strings.HasSuffix(name, "Error")
				if (sentinel || kind) && ast.IsExported(name) {
					names = append(names, p.Name+"."+name)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}

// An error is found wherever it is wrapped or joined.
func TestJoinedErrors(t *testing.T) {
	t.Parallel()
	table := renderErrors(rules(shop.Rules()))
	for _, err := range []error{
		errors.Join(gate.ErrSoldOut), fmt.Errorf("admitting: %w", errors.Join(errors.New("other"), gate.ErrSoldOut)),
	} {
		if code := table.match(err).code; code != "SOLD_OUT" {
			t.Errorf("%v is answered %s", err, code)
		}
	}
}
