-- Prelude of the read-write lock's scripts: whose turn it is. Follows holds.lua and queue.lua.
--
-- Readers and writers have separate queues, whose places are compared by time: the earliest goes first, and readers
-- with no writer between them go together. So neither starves.
--
-- KEYS[4]  the queue of writers
-- KEYS[6]  the queue of readers
-- KEYS[7]  the writer's holds              holds.lua
-- KEYS[8]  the readers' holds              holds.lua
-- KEYS[9]  how many holds each reader has  holds.lua

-- due returns the readers ahead of the first writer; if there are none and nobody reads, that writer. At most 500
-- readers are returned; each of them wakes one more when it obtains the lock (read.lua).
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

-- recount counts the holds of readers again if Redis lost the counts, and forgets the counts if it lost the holds. This
-- alone may touch more than 500 holds.
local function recount()
  if redis.call('EXISTS', KEYS[8], KEYS[9]) ~= 1 then
    return
  end
  redis.call('UNLINK', KEYS[9])
  for _, hold in ipairs(redis.call('ZRANGE', KEYS[8], 1, -1)) do
    redis.call('HINCRBY', KEYS[9], owner_in(hold), 1)
  end
  redis.call('PEXPIRE', KEYS[9], redis.call('PTTL', KEYS[8]))
end

-- reads reports whether the owner has an unexpired hold as a reader, and whether that is certain: more expired holds
-- may remain than one script removes.
local function reads(owner, now)
  local _, more = remove_expired(KEYS[8], now)
  return redis.call('HEXISTS', KEYS[9], owner) == 1, not more
end
