// Package seckill is a client of the flash-sale coupon service.
//
// [Buyer] presses the button as a frontend should: it repeats after answers that ask for it and after lost ones,
// which is harmless, and ends with an order or a refusal. [NewClientWithResponses] calls the routes for buyers, tills
// and webhooks; it is generated from the service's OpenAPI document (make clients). [Check] turns any answer that is
// a refusal into a *[Refusal].
package seckill
