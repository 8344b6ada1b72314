package contract

import (
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"seckill/web"
)

// TestNames: each name of the description means one thing, in schemas, parameters and examples of files.
func TestNames(t *testing.T) {
	t.Parallel()
	c, err := Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Names(); err != nil {
		t.Error(err)
	}
}

// TestWrongNames: a name that means something else in one place is noticed.
func TestWrongNames(t *testing.T) {
	t.Parallel()
	text, err := web.FS.ReadFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	wrong := map[string]struct{ from, to, says string }{
		"an order's id is a number": {
			`        orderId: {$ref: "#/components/schemas/OrderId"}`,
			`        orderId: {$ref: "#/components/schemas/Id"}`,
			"orderId is an id",
		},
		"a voucher's id is a text": {
			`        voucherId: {$ref: "#/components/schemas/Id"}`,
			`        voucherId: {type: string}`, "voucherId is an id",
		},
		"an id of nothing": {"        lastError: ", "        lastErrorId: ", "lastErrorId is an id"},
		"a payment's own id has its name": {
			`        id: {type: string, description: "The provider knows`,
			`        paymentId: {type: string, description: "The provider knows`, "Payment calls its own id paymentId",
		},
		"an endpoint's id is a text": {
			`        id: {$ref: "#/components/schemas/Id"}` + "\n        shopId: {type: integer",
			"        id: {type: string}\n        shopId: {type: integer", "Webhook has an id of the type",
		},
		"an id in a path": {
			"        schema: {type: string}\n        example: pay_6f1c",
			"        schema: {type: integer}\n        example: 6",
			"/admin/payment/{id} has an id of the type",
		},
		"a time of another name": {"        payTime: ", "        payMoment: ", "payMoment is a time"},
		"a time of another form": {
			`        redeemTime: {$ref: "#/components/schemas/Time"}`, `        redeemTime: {type: string}`,
			"redeemTime is a time, and not of the schema Time",
		},
		"money of another name": {
			`        returnedAmount: {description: "What has gone`, `        returned: {description: "What has gone`,
			"returned is money",
		},
		"money as a text": {
			`amount: {type: integer, format: int64, minimum: 0, description: Cents.}`, `amount: {type: string}`,
			"amount is money",
		},
		"money without a currency": {
			`            currency: {$ref: "#/components/schemas/Currency"}` + "\n            received:",
			"            received:",
			".received.amount has no currency",
		},
		"two types": {
			"        asked: {type: integer", "        detail: {type: integer", "detail has the types",
		},
		"a duration as a text": {"leadMinutes: {type: integer", "leadMinutes: {type: string", "leadMinutes is a time"},
		"snake case":           {"        stepSeconds: ", "        step_seconds: ", "step_seconds is no name"},
		"a head that no answer has": {
			"orderId,voucherId,shopId,userId,provider,", "orderId,voucherId,shopId,buyer,provider,", "the name buyer",
		},
		"a cell that is no time": {"2026-01-02T12:00:30.000Z,2026", "2026-01-02T12:00:30Z,2026", "createTime is 2026"},
		"a file without a currency": {
			"quantity,amount,currency,reason,", "quantity,amount,code,reason,", "amounts without a currency",
		},
	}
	broken := string(text)
	for name, c := range wrong {
		if !strings.Contains(broken, c.from) {
			t.Fatalf("%s: the description has no %s", name, c.from)
		}
		broken = strings.ReplaceAll(broken, c.from, c.to)
	}
	doc, err := openapi3.NewLoader().LoadFromData([]byte(broken))
	if err != nil {
		t.Fatal(err)
	}
	_, err = (&Contract{doc: doc}).Names()
	for name, c := range wrong {
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s is not noticed: %v", name, err)
		}
	}
}

// TestNamesElsewhere: events use the names of the answers.
func TestNamesElsewhere(t *testing.T) {
	t.Parallel()
	c, err := Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	names, err := c.Names()
	if err != nil {
		t.Fatal(err)
	}
	for body, says := range map[string]string{
		`{"data":{"orderId":"5","amount":1000,"currency":"CNY","payTime":"2026-01-02T12:00:00.000Z"},"extra":1}`: "",
		`{"orderId":5}`:                          "orderId is a integer",
		`{"buyerId":5}`:                          "buyerId is in no other answer",
		`{"amount":1000}`:                        "without a currency",
		`{"amount":10.5,"currency":"CNY"}`:       "no amount",
		`{"data":{"at":"2026-01-02T12:00:00Z"}}`: "no time with milliseconds",
		`{`:                                      "is not JSON",
	} {
		err := names.CheckJSON([]byte(body), "extra")
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", body, err, says)
		}
	}
}
