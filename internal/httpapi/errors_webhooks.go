package httpapi

import (
	"net/http"

	"seckill/internal/httpapi/httpkit"
)

// The refusals of webhooks, which the error table names.

// noWebhook answers who names an endpoint or an event that is not there.
func noWebhook() httpkit.Failure {
	return httpkit.Failure{
		Code: "NOT_FOUND", Status: http.StatusNotFound, Title: "Not found",
		Detail:  "There is no webhook endpoint with this id, or no event that it has come to and wants.",
		English: "There is no such webhook or event.", Chinese: "该回调地址或事件不存在",
	}
}

// manyWebhooks answers who would add an endpoint beyond the limit.
func manyWebhooks() httpkit.Failure {
	return httpkit.Failure{
		Code: "TOO_MANY_WEBHOOKS", Status: http.StatusConflict, Title: "Too many webhook endpoints",
		Detail:  "There are 200 endpoints, which is the limit. Delete one first.",
		English: "There are too many webhooks. Delete one first.", Chinese: "回调地址数量已达上限，请先删除",
	}
}

// secretRotating answers who changes a secret twice.
func secretRotating() httpkit.Failure {
	return httpkit.Failure{
		Code: "SECRET_ROTATING", Status: http.StatusConflict, Title: "The secret was changed lately",
		Detail: "The secret before the present one still signs. Wait until it ends, or send " +
			"atOnce, which ends it now.",
		English: "The secret was changed less than a day ago.", Chinese: "密钥刚刚更换过，旧密钥仍在有效期内",
	}
}
