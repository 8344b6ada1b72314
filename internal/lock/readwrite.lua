-- Prelude of the read-write lock's scripts: who is told of a release, and who reads. After queue.lua.
--
-- Readers and writers wait in queues of their own, whose places are compared: who came first goes first, and readers
-- with no writer between them go together. So neither is starved.
--
-- KEYS[4]  the queue of writers
-- KEYS[6]  the queue of readers
-- KEYS[7]  the writer's holds   hash (holds.lua)
-- KEYS[8]  the readers' holds   sorted set (readers.lua)

-- wake tells those whose turn it is: the readers who came before the first writer; else him, when nobody reads.
local function wake(channel, now)
  prune(now)
  if redis.call('EXISTS', KEYS[7]) == 1 then
    return
  end
  local writer = redis.call('ZRANGE', KEYS[4], 0, 0, 'WITHSCORES')
  local next = redis.call('ZRANGEBYSCORE', KEYS[6], '-inf', writer[2] or '+inf')
  if not next[1] and writer[1] and redis.call('EXISTS', KEYS[8]) == 0 then
    next = {writer[1]}
  end
  for _, request in ipairs(next) do
    tell(channel, request)
  end
end

-- reads reports whether the owner has a hold among the readers'.
local function reads(owner, now)
  for _, hold in ipairs(redis.call('ZRANGEBYSCORE', KEYS[8], '(' .. whole(now), '+inf')) do
    if string.match(hold, '^%S+ (.*)$') == owner then
      return true
    end
  end
  return false
end
