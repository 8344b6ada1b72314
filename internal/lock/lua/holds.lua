-- Prelude of scripts of locks that may be held several times. Follows clock.lua.
--
-- The holds are a sorted set. Each hold is a member "request label owner", scored with the end of its lease in
-- milliseconds of Redis's clock. The member "token n" with score 0 is the token of the present stay. Repeating a
-- request adds no second hold; each lease is independent of the others, and the key lives as long as the longest. A
-- hash, owner → number, counts the holds of each reader and lives as long.
--
-- No script touches more than 500 holds: it removes at most that many expired ones.
--
-- KEYS[8]  the readers' holds (readwrite.lua); none for locks without them
-- KEYS[9]  the number of holds of each reader

-- owner_in returns the owner named in a hold.
local function owner_in(hold)
  return string.match(hold, '^%S+ %S+ (.*)$')
end

-- owner_of returns the owner of an exclusive lock, nil if nobody has it.
local function owner_of(key)
  local first = redis.call('ZRANGE', key, 1, 1)[1]
  return first and owner_in(first)
end

-- token_of returns the token of the present stay, nil if nobody has the lock.
local function token_of(key)
  local first = redis.call('ZRANGE', key, 0, 0)[1]
  return first and string.match(first, '^token (%d+)$')
end

-- holding reports whether the hold exists and its lease has not ended.
local function holding(key, hold, now)
  local over = redis.call('ZSCORE', key, hold)
  return over and tonumber(over) > now
end

-- take adds a hold that lasts until over, or moves its end, in a stay with the given token.
local function take(key, token, hold, over)
  if key == KEYS[8] and not redis.call('ZSCORE', key, hold) then
    redis.call('HINCRBY', KEYS[9], owner_in(hold), 1)
  end
  redis.call('ZADD', key, 0, 'token ' .. token, whole(over), hold)
end

-- drop ends a hold.
local function drop(key, hold)
  if redis.call('ZREM', key, hold) == 1 and key == KEYS[8] then
    if redis.call('HINCRBY', KEYS[9], owner_in(hold), -1) <= 0 then
      redis.call('HDEL', KEYS[9], owner_in(hold))
    end
  end
end

-- remove_expired removes holds whose lease has ended, and sets the key's time to live. It returns whether holds are
-- left, and whether more expired ones may remain. If no holds are left, it deletes the keys.
local function remove_expired(key, now)
  local over = redis.call('ZRANGEBYSCORE', key, 1, whole(now), 'LIMIT', 0, 500)
  for _, hold in ipairs(over) do
    drop(key, hold)
  end
  local last = redis.call('ZREVRANGE', key, 0, 0, 'WITHSCORES')
  if not last[2] or tonumber(last[2]) <= now then
    redis.call('UNLINK', key)
    if key == KEYS[8] then
      redis.call('UNLINK', KEYS[9])
    end
    return false, false
  end
  redis.call('PEXPIRE', key, whole(last[2] - now))
  if key == KEYS[8] then
    redis.call('PEXPIRE', KEYS[9], whole(last[2] - now))
  end
  return true, #over == 500
end
