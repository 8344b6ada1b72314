//go:build !race

package authtoken

import (
	"fmt"
	"testing"
	"time"
)

// TestAllocations checks that verifying a token for the first time allocates nothing, whether it is valid or forged. It
// is not parallel, because allocations are counted for the whole process.
func TestAllocations(t *testing.T) {
	v := verifier(t, Rules{Previous: previous, Audience: "shop", MaxLife: time.Hour})
	good := signed(fmt.Sprintf(`{"sub":"42","aud":["x","shop"],"role":"buyer","exp":%d,"iat":%d,"name":"优"}`,
		at(time.Hour), at(0)))
	for token, valid := range map[string]bool{good: true, good[:len(good)-1] + "!": false, "x": false} {
		allocs := testing.AllocsPerRun(1000, func() {
			if _, err := v.Verify(token, noon); (err == nil) != valid {
				t.Fatalf("%s: %v", token, err)
			}
		})
		if allocs > 0 {
			t.Errorf("valid %t: %v allocations", valid, allocs)
		}
	}
}
