package test

// faultless is the burst that everything else is measured against: fifty times as many buyers as units.
func faultless(d *drill) {
	d.open(deployment{units: 100})
	d.heal()
	d.crowd.rush(d.Context(), 200, d.people(5000))
	e := d.finish()
	if got := d.crowd.record.tally(); got["accepted"] != 100 || got["refused SOLD_OUT"] != 4900 || e.liveRows() != 100 {
		d.Errorf("answers %v, want 100 accepted and the others SOLD_OUT", got)
	}
}
