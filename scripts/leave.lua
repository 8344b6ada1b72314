-- leave.lua: removes a consumer that is stopping, if it has no pending entries. Safe to repeat.
--
-- KEYS (one hash slot)
--   1  orders     stream
--   2  consumers  sorted set  consumer name -> time of its last heartbeat
-- ARGV
--   1  group
--   2  name
--
-- Returns 0 if the consumer is gone, or 1 if it has pending entries. Then it stays, because Redis would forget the
-- entries, but loses its heartbeat, so that another consumer takes them over.

redis.call('ZREM', KEYS[2], ARGV[2])
if redis.call('EXISTS', KEYS[1]) == 0 then
  return 0
end
local pending = redis.pcall('XPENDING', KEYS[1], ARGV[1], '-', '+', '1', ARGV[2])
if pending['err'] then
  return 0 -- without a group there is no consumer
end
if #pending == 0 then
  redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2])
end
return #pending
