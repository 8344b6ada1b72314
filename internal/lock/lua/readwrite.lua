-- Prelude of the read-write lock's scripts: whose turn it is. After holds.lua and queue.lua.
--
-- Readers and writers wait in queues of their own, whose places are compared: who came first goes first, and readers
-- with no writer between them go together. So neither is starved.
--
-- KEYS[4]  the queue of writers
-- KEYS[6]  the queue of readers
-- KEYS[7]  the writer's holds              holds.lua
-- KEYS[8]  the readers' holds              holds.lua
-- KEYS[9]  how many holds each reader has  holds.lua

-- due returns the readers who came before the first writer; else that one, when nobody reads. Of many readers it is the
-- first 500; each of them who obtains the lock tells one more (read.lua).
due = function()
  if redis.call('EXISTS', KEYS[7]) == 1 then
    return {}
  end
  local writer = redis.call('ZRANGE', KEYS[4], 0, 0, 'WITHSCORES')
  local next = redis.call('ZRANGEBYSCORE', KEYS[6], '-inf', writer[2] or '+inf', 'LIMIT', 0, 500)
  if not next[1] and writer[1] and redis.call('EXISTS', KEYS[8]) == 0 then
    next = {writer[1]}
  end
  return next
end

-- reads reports whether the owner has a hold among the readers', whose leases are not over, and whether that is sure:
-- there may be more to be removed than one script does.
local function reads(owner, now)
  local _, more = settle(KEYS[8], now)
  return redis.call('HEXISTS', KEYS[9], owner) == 1, not more
end
