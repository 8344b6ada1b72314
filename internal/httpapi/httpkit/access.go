package httpkit

import "seckill/internal/authtoken"

// Access says who may call a route. docs/operations.md#who-may-do-what lists every route.
type Access int8

// Kinds of access.
const (
	ForAll    Access = iota // also callers without a token, or with a bad one
	ForUsers                // every role
	ForBuyers               // and merchants and admins, as themselves
	ForAdmins
	ForMerchants // in their shop, and admins
	ForTills     // that stand in a shop
	ForCrowds    // of the rehearsal in the path, and admins; the handler checks which rehearsal
)

// Admits reports whether a caller with a valid token may use a route of this kind.
func (a Access) Admits(who Identity) bool {
	switch a {
	case ForAll, ForUsers:
		return true
	case ForBuyers:
		return who.Role == authtoken.RoleBuyer || who.Role == authtoken.RoleMerchant || who.Admin()
	case ForAdmins:
		return who.Admin()
	case ForMerchants:
		return who.Admin() || who.Role == authtoken.RoleMerchant && who.Shop != 0
	case ForTills:
		return who.Role == authtoken.RoleTill && who.Shop != 0
	case ForCrowds:
		return who.Admin() || who.Role == authtoken.RoleCrowd && who.Crowd != 0
	}
	return false
}
