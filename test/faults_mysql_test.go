package test

import "time"

// mysqlKilled kills MySQL in the middle of recording and starts it again while buyers go on being accepted.
func mysqlKilled(d *drill) {
	d.open(deployment{units: 8000})
	d.load(32, 30*time.Millisecond)
	d.traffic(300)
	c := d.wires[d.victim()].mysql.Catch(commitSent())
	d.await("a commit", c.Caught())
	d.mysql.Kill()
	c.Cut()
	d.traffic(500) // Redis goes on admitting
	d.heal()
	d.mysql.Start()
	d.finish()
}
