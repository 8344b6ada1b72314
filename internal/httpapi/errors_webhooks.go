package httpapi

import "net/http"

// The refusals of webhooks, which the error table names.

// noWebhook answers who names an endpoint or an event that is not there.
func noWebhook() failure {
	return failure{
		code: "NOT_FOUND", status: http.StatusNotFound, title: "Not found",
		detail:  "There is no webhook endpoint with this id, or no event that it has come to and wants.",
		english: "There is no such webhook or event.", chinese: "该回调地址或事件不存在",
	}
}

// manyWebhooks answers who would add an endpoint beyond the limit.
func manyWebhooks() failure {
	return failure{
		code: "TOO_MANY_WEBHOOKS", status: http.StatusConflict, title: "Too many webhook endpoints",
		detail:  "There are 200 endpoints, which is the limit. Delete one first.",
		english: "There are too many webhooks. Delete one first.", chinese: "回调地址数量已达上限，请先删除",
	}
}

// secretRotating answers who changes a secret twice.
func secretRotating() failure {
	return failure{
		code: "SECRET_ROTATING", status: http.StatusConflict, title: "The secret was changed lately",
		detail:  "The secret before the present one still signs. Wait until it ends, or send atOnce, which ends it now.",
		english: "The secret was changed less than a day ago.", chinese: "密钥刚刚更换过，旧密钥仍在有效期内",
	}
}
