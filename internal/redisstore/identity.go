package redisstore

import (
	"fmt"
	"strconv"
	"strings"

	"seckill/internal/order"
)

// refIn reads the beginning of a sale's fields op_id and decided, "number identity", and returns what follows.
func refIn(text string) (ref order.OperationRef, rest string, ok bool) {
	words := strings.SplitN(text, " ", 3)
	if len(words) < 2 {
		return ref, "", false
	}
	var errNumber, errIdentity error
	ref.Number, errNumber = strconv.ParseInt(words[0], 10, 64)
	ref.Identity, errIdentity = strconv.ParseInt(words[1], 10, 64)
	if len(words) == 3 {
		rest = words[2]
	}
	return ref, rest, errNumber == nil && errIdentity == nil && ref.Number > 0
}

// setIdentity reads the fields op_id and decided of a sale. It leaves both unknown if op_id is of an earlier operation,
// because a version 1.0, which does not write them, has applied the later ones.
func setIdentity(v *order.SaleView, opID, decided string) {
	last, _, ok := refIn(opID)
	if !ok || last.Number != v.Applied {
		return
	}
	v.AppliedIdentity = last.Identity
	if decided == order.NoDecision {
		v.Decided.Kind = decided
	} else if ref, kind, ok := refIn(decided); ok && kind != "" && ref.Number <= v.Applied {
		v.Decided = order.Decided{OperationRef: ref, Kind: kind}
	}
}

// decisionText returns the field decided; "" for one that is not known.
func decisionText(d order.Decided) string {
	if d.Number == 0 {
		return d.Kind
	}
	return fmt.Sprintf("%d %d %s", d.Number, d.Identity, d.Kind)
}
