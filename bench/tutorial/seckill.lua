-- Admission as the tutorials do it: one buyer per call.
--   KEYS  stock (string), buyers (set), stream
--   ARGV  voucher id, user id, order id
--   0 accepted, 1 sold out, 2 bought already
if tonumber(redis.call('GET', KEYS[1])) <= 0 then
  return 1
end
if redis.call('SISMEMBER', KEYS[2], ARGV[2]) == 1 then
  return 2
end
redis.call('INCRBY', KEYS[1], -1)
redis.call('SADD', KEYS[2], ARGV[2])
redis.call('XADD', KEYS[3], '*', 'userId', ARGV[2], 'voucherId', ARGV[1], 'id', ARGV[3])
return 0
