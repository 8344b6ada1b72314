-- Admission as the tutorials do it: one buyer per call. How the accepted order is queued is all that differs.
--   KEYS  stock (string), buyers (set), queue
--   ARGV  voucher id, user id, order id, kind of queue: memory (the caller's own), list, pubsub, stream
--   0 accepted, 1 sold out, 2 bought already
if tonumber(redis.call('GET', KEYS[1])) <= 0 then
  return 1
end
if redis.call('SISMEMBER', KEYS[2], ARGV[2]) == 1 then
  return 2
end
redis.call('INCRBY', KEYS[1], -1)
redis.call('SADD', KEYS[2], ARGV[2])
local text = ARGV[3] .. ' ' .. ARGV[2] .. ' ' .. ARGV[1]
if ARGV[4] == 'list' then
  redis.call('LPUSH', KEYS[3], text)
elseif ARGV[4] == 'pubsub' then
  redis.call('PUBLISH', KEYS[3], text)
elseif ARGV[4] == 'stream' then
  redis.call('XADD', KEYS[3], '*', 'userId', ARGV[2], 'voucherId', ARGV[1], 'id', ARGV[3])
end
return 0
