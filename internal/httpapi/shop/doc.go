// Package shop has the core's routes: requests of buyers, admins and payment providers about vouchers, orders and
// payments. Like a feature's routes, they are built with httpkit: package httpapi serves [API.Routes] and answers
// errors by [Rules]. Each file has the routes of one subject, with the interface of what they call.
//
// The routes call the domain through Config: listing.Listings for public reads of vouchers; voucher.Service for
// creating and changing them; service.Purchases for purchases in a sale, and for owners who read or watch their orders;
// service.DirectSales for ordinary vouchers; service.Orders for cancelling, histories and staff's lists;
// service.Payments and a provider's callbacks for payments. The table of routes is in routes.go. The routes of a part
// that is not configured do not exist.
package shop
