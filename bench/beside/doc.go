// Beside puts any HTTP service that sells one unit to each user beside this one, on one machine, in turn: ports of the tutorial,
// for example, whose code needs not be here.
//
//	go run ./test/services -- go run ./bench/beside -url http://127.0.0.1:8081 -route /voucher-order/seckill/7 \
//	    -header 'authorization: {token}' -accepted '"success":true' -tokens tokens.txt \
//	    -dsn 'root:pw@tcp(127.0.0.1:3306)/dianping' -count 'SELECT COUNT(*) FROM tb_voucher_order WHERE voucher_id = 7'
//
// The other service runs already, with a sale whose stock no round can sell: what sells out measures refusals, which are counted
// and shown. This service is built and started anew for each round, with stores of its own choice (test/services). Both get the
// same load from the same client: so many connections, on each of which another user asks as soon as the one before has
// been answered. Each line of the tokens' file is a user, who asks once: a user who asks again measures "already bought".
//
// A figure is the median over the rounds, and a ratio is taken within each round, because the machine is not the same from one
// minute to the next. Accepted, recorded meanwhile and never recorded are three figures: rows are counted by the given query when
// the last answer has come, and again once there are as many as were accepted or -settle is over.
package main
