// Package shop is the core's routes: what buyers, admins and payment providers ask of vouchers, orders and payments. It
// is made as a feature's routes are, of httpkit: [API.Routes] and [Rules] go to package httpapi, which serves them. A
// file has the routes of one subject, with the interface of what it calls.
//
// The domain is what Config names: listing.Listings for what everybody reads of vouchers; voucher.Service for creating
// and changing them; service.Purchases for purchases in a sale, for owners' orders and for watching one;
// service.DirectSales for ordinary vouchers; service.Orders for cancelling, histories and admins' searches;
// service.Payments and a provider's callbacks for payments. The table of routes is in routes.go. The routes of a part
// that is not configured do not exist.
//
// Its tests are those of package httpapi, as a route is only worth what is served of it.
package shop
