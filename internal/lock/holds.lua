-- Prelude of scripts of locks that one owner has at a time, and may hold several times. After clock.lua.
--
-- The lock is a hash: owner, token, and for each hold a field named by its request, with the time at which its lease
-- ends, in milliseconds of Redis's clock. The number of holds is the number of such fields, so no repetition of a
-- request can raise it; each hold has a lease of its own, and the key lives as long as the longest.

-- token_of returns the token of the present stay, false when nobody has the lock.
local function token_of(key)
  return redis.call('HGET', key, 'token')
end

-- holding reports whether the request is a hold of the owner whose lease is not over.
local function holding(key, owner, request, now)
  local found = redis.call('HMGET', key, 'owner', request)
  return found[1] == owner and found[2] and tonumber(found[2]) > now
end

-- take gives the owner a hold until the given time, in a stay that has the token.
local function take(key, owner, token, request, over)
  redis.call('HSET', key, 'owner', owner, 'token', token, request, whole(over))
end

-- drop ends a hold of the owner.
local function drop(key, owner, request)
  redis.call('HDEL', key, request)
end

-- settle removes holds whose lease is over, sets the key's time to live, and returns how many holds are left. With
-- none the key is gone.
local function settle(key, now)
  local fields, left, last = redis.call('HGETALL', key), 0, 0
  for i = 1, #fields, 2 do
    if fields[i] ~= 'owner' and fields[i] ~= 'token' then
      local over = tonumber(fields[i + 1])
      if over > now then
        left, last = left + 1, math.max(last, over)
      else
        redis.call('HDEL', key, fields[i])
      end
    end
  end
  if left == 0 then
    redis.call('DEL', key)
  else
    redis.call('PEXPIRE', key, whole(last - now))
  end
  return left
end
